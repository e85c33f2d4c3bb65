import type { ServerResponse } from 'node:http';
import { Writable } from 'node:stream';
import { expect, test } from '@jest/globals';
import { type ApiRequest, isRefusal } from '@makerbook/http';
import { RecentNews } from './keep-recent.js';
import { type EndReason, serveStreams } from './stream-book.js';

/** A client that takes what it is sent at once, or when the test says so. */
class Client extends Writable {
  text = '';
  #taken: () => void = () => undefined;

  readonly #isSlow: boolean;

  constructor(isSlow: boolean) {
    super({ highWaterMark: 1_000 });
    this.#isSlow = isSlow;
  }

  override _write(chunk: Buffer, _encoding: string, taken: () => void): void {
    this.text += chunk;
    this.#taken = taken;
    if (!this.#isSlow) taken();
  }

  take(): void {
    this.#taken();
  }
}

const LOG = '5e1fc0de';

function openStreams(bytesMax = 1_000_000) {
  let log: string | undefined = LOG;
  const recent = new RecentNews([undefined], bytesMax);
  const ended: EndReason[] = [];
  const streams = serveStreams({
    name: 'book',
    feed: { partitions: 1, recent: () => recent, logName: () => log },
    ended: (reason) => ended.push(reason),
    aheadMsMax: 40,
  });
  let offset = 0n;
  let room = 0;
  const count = (change: number) => () => {
    room += change;
  };
  return {
    ended,
    streams,
    name(given: string | undefined): void {
      log = given;
    },
    room: () => room,
    publish(count: number): void {
      for (let n = 0; n < count; n += 1) {
        recent.append({ partition: 0, id: { offset, index: 0 }, event: 'entry', log, line: `"${'x'.repeat(400)}"` });
        recent.seal();
        offset += 1n;
      }
      streams.send();
    },
    ask: (after: string, lastEventId?: string) =>
      streams.stream(
        {
          query: new URLSearchParams({ after: `${after}:${LOG}` }),
          headers: { 'last-event-id': lastEventId && `${lastEventId}:${LOG}` },
        } as unknown as ApiRequest,
        () => ({ enter: count(1), leave: count(-1) }),
      ),
    async open(after: string, isSlow = false): Promise<Client> {
      const reply = await this.ask(after);
      if (isRefusal(reply)) throw new Error(reply.detail);
      const client = new Client(isSlow);
      reply.stream?.(client as unknown as ServerResponse);
      return client;
    },
  };
}
const idsIn = ({ text }: Client) => [...text.matchAll(/^id: (\d+):0:5e1fc0de$/gm)].map(([, id]) => Number(id));

test('a slow client gets what it missed once it reads again, and holds up nobody', async () => {
  const here = openStreams();
  const [slow, quick] = [await here.open('-', true), await here.open('-')];
  here.publish(40);
  expect(idsIn(quick)).toHaveLength(40);
  expect(slow.writableLength).toBeLessThan(2_000);
  while (idsIn(slow).length < 40) {
    slow.take();
    await new Promise(setImmediate);
  }
  expect(idsIn(slow)).toEqual(idsIn(quick));
  here.streams.stop();
});

test('a client too slow for what is kept is disconnected and frees its place', async () => {
  const here = openStreams(10_000);
  const slow = await here.open('-', true);
  expect(here.room()).toBe(1);
  const closed = new Promise((resolve) => slow.once('close', resolve));
  here.publish(100);
  expect(here.ended).toEqual(['slow']);
  await closed;
  expect(here.room()).toBe(0);
  here.streams.stop();
});

test('a stream resumes after the last event, even if the address names an older one', async () => {
  const here = openStreams();
  here.publish(3);
  const reply = await here.ask('-', '1:0');
  const client = new Client(false);
  if (!isRefusal(reply)) reply.stream?.(client as unknown as ServerResponse);
  expect(idsIn(client)).toEqual([2]);
  here.streams.stop();
  expect(client.text).toMatch(/event: end\ndata: \{"reason":"stopping"\}\n\n$/);
});

test.each([
  ['7:0', 'unavailable'],
  ['0:0', 'gone'],
])('after=%s is refused with %s', async (after, code) => {
  const here = openStreams(1_500);
  here.publish(5);
  expect(await here.ask(after)).toMatchObject({ code });
  here.streams.stop();
});

test('a cursor that is ahead waits until this process reaches it', async () => {
  const here = openStreams();
  const asked = here.open('2:0');
  here.publish(5);
  expect(idsIn(await asked)).toEqual([3, 4]);
  here.streams.stop();
});

test('a cursor of another log is gone, and one of this log waits while the log has no name yet', async () => {
  const here = openStreams();
  here.publish(2);
  for (const other of ['0badf00d', '-']) {
    const query = new URLSearchParams({ after: `0:0:${other}` });
    const request = { query, headers: {} } as unknown as ApiRequest;
    const refused = here.streams.stream(request, () => ({ enter: count, leave: count }));
    expect(await refused).toMatchObject({ code: 'gone' });
  }
  here.name(undefined);
  expect(await here.ask('0:0')).toMatchObject({ code: 'unavailable' });
  const asked = here.open('0:0');
  here.name(LOG);
  expect(idsIn(await asked)).toEqual([1]);
  here.streams.stop();
});

const count = () => undefined;
