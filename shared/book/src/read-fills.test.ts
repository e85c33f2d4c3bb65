import { expect, test } from '@jest/globals';
import { type BookFill, followFills, readFills } from './read-fills.js';
import { FeedLost } from './read-over-http.js';

const [maker, taker, token] = ['a1', 'b2', 'c3'].map((byte) => `0x${byte.repeat(20)}` as const);
const fillOf = (blockNumber: number) => ({ maker, taker, makingToken: token, blockNumber, logIndex: 1 });
const pageOf = (blocks: readonly number[], nextCursor: string | null) => () =>
  new Response(JSON.stringify({ fills: blocks.map(fillOf), nextCursor, streamCursor: '-,1:0:5e1fc0de' }));
const eventOf = (block: number, id: string) => `id: ${id}\nevent: fill\ndata: ${JSON.stringify(fillOf(block))}\n\n`;

/** Answers the requests one after the other. */
function service(...answers: readonly (() => Response | Promise<Response>)[]) {
  const asked: string[] = [];
  const fetch: typeof globalThis.fetch = async (input) => {
    asked.push(decodeURIComponent(String(input).replace('http://x/v0alpha/book/', '')));
    const answer = answers[asked.length - 1];
    if (answer === undefined) throw new Error('more is asked for than expected');
    return answer();
  };
  return { asked, options: { baseUrl: 'http://x', fetch } };
}

async function take(fills: AsyncIterable<BookFill>, count = Number.POSITIVE_INFINITY): Promise<number[]> {
  const blocks: number[] = [];
  for await (const { blockNumber } of fills) {
    blocks.push(blockNumber);
    if (blocks.length === count) break;
  }
  return blocks;
}

test('fills are read page by page, newest first, and a cut or refused page is asked for again', async () => {
  const cut = () => new Response('{"fills":[{');
  const busy = () => new Response('{}', { status: 503, headers: { 'Retry-After': '0.01' } });
  const { asked, options } = service(pageOf([9, 8], '8:1'), busy, cut, pageOf([7], null));
  expect(await take(readFills(options, { making: `${token}` }))).toEqual([9, 8, 7]);
  const second = `fills?limit=1000&making=${token}&cursor=8:1`;
  expect(asked).toEqual([`fills?limit=1000&making=${token}`, second, second, second]);
});

test('the stream follows the newest page, and resumes after the last complete event', async () => {
  const stream = () => new Response(`:\n\n${eventOf(3, '-,2:0:5e1fc0de')}${eventOf(4, '-,3:0:5e1fc0de').slice(0, -9)}`);
  const again = () => new Response(`${eventOf(4, '-,3:0:5e1fc0de')}event: end\ndata: {"reason":"stopping"}\n\n`);
  const { asked, options } = service(pageOf([2, 1], null), stream, again);
  expect(await take(followFills(options, 2), 4)).toEqual([1, 2, 3, 4]);
  expect(asked).toEqual(['fills?limit=2', 'fills/stream?after=-,1:0:5e1fc0de', 'fills/stream?after=-,2:0:5e1fc0de']);
});

test('a reader gets an error if it cannot resume or may not read', async () => {
  const refusal = (status: number) => () => new Response('{"code":"x"}', { status });
  await expect(take(followFills(service(pageOf([], null), refusal(410)).options))).rejects.toThrow(FeedLost);
  await expect(take(readFills(service(refusal(401)).options))).rejects.toThrow(/answers 401/);
});
