import { describe, expect, test } from '@jest/globals';
import { paths } from '@makerbook/contracts-http/paths';
import type { Hex } from '@makerbook/contracts-primitives';
import { BotJudge, type FinalState, GRACE_MS } from './judge-bot.js';
import { type Exchange, readEvent, readExchange } from './read-exchange.js';

const hashOf = (number: number): Hex => `0x${String(number).repeat(64)}`;
const [A, B] = [hashOf(1), hashOf(2)];
const items = (...hashes: readonly Hex[]) => hashes.map((orderHash) => ({ orderHash }));
const answerTo = (method: string, path: string, answer: unknown, more: Partial<Exchange> = {}) =>
  readExchange(
    {
      method,
      url: new URL(`http://x${path}`),
      body: '',
      status: 200,
      answer: JSON.stringify(answer),
      isBehind: false,
      ...more,
    },
    (order) => order as Hex,
  );
const placed = answerTo('POST', paths.limitOrders, items(A));
const replaced = answerTo('POST', paths.replacements, { cancelled: items(A), placed: items(B) });
const cancelled = answerTo('POST', paths.cancellations, items(A));
const duplicate = answerTo(
  'POST',
  paths.limitOrders,
  { code: 'duplicate' },
  { status: 409, body: JSON.stringify([{ order: A }]) },
);
const list = (...hashes: readonly Hex[]) => answerTo('GET', paths.limitOrders, items(...hashes));
const part = answerTo('GET', `${paths.limitOrders}?limit=1`, items(B));
const behind = answerTo('GET', paths.limitOrders, items(B), { isBehind: true });
const open: FinalState = { isOpen: true };
const ended: FinalState = { isOpen: false, endedAtMs: 0 };

type Step = readonly [lesson: typeof placed, isHeard: boolean];
const heard = (lesson: typeof placed): Step => [lesson, true];
const lost = (lesson: typeof placed): Step => [lesson, false];

/** Takes each step a second after the one before, and judges long after. @returns the checks that failed */
function failuresOf(steps: readonly Step[], states: readonly (readonly [Hex, FinalState])[]): string {
  const judge = new BotJudge(0);
  for (const [index, [lesson, isHeard]] of steps.entries()) judge.learn(lesson, 1000 * index, 1000 * index, isHeard);
  const nowMs = 1000 * steps.length + GRACE_MS + 1;
  judge.noteRequest(nowMs, null);
  const verdicts = judge.judge(nowMs, new Map(states));
  return verdicts.flatMap(({ check, passed }) => (passed ? [] : check)).join();
}

describe('a bot', () => {
  test.each<[what: string, steps: readonly Step[], states: readonly (readonly [Hex, FinalState])[], failed: string]>([
    ['was told', [heard(placed)], [[A, open]], ''],
    ['was never told of an order', [lost(placed)], [[A, open]], 'knows_every_order'],
    ['is about to be told of an order', [heard(placed)], [[B, open]], ''],
    ['was told by a list', [lost(placed), heard(list(A))], [[A, open]], ''],
    ['was told that it is a duplicate', [lost(placed), heard(duplicate)], [[A, open]], ''],
    [
      'was told of an order by its report',
      [lost(placed), heard(answerTo('GET', `/x/${A}`, { orderHash: A, status: 'ACTIVE' }))],
      [[A, open]],
      '',
    ],
    [
      'was told by the stream',
      [lost(placed), heard(readEvent('snapshot', JSON.stringify({ orders: items(A) })))],
      [[A, open]],
      '',
    ],
    ['has cancelled, and was not told', [heard(placed), lost(cancelled)], [[A, ended]], 'knows_every_end'],
    ['has cancelled, and was told', [heard(placed), heard(cancelled)], [[A, ended]], ''],
    [
      'has replaced, and was not told',
      [heard(placed), lost(replaced)],
      [
        [A, ended],
        [B, open],
      ],
      'knows_every_order,knows_every_end',
    ],
    [
      'has replaced, and listed',
      [heard(placed), lost(replaced), heard(list(B))],
      [
        [A, ended],
        [B, open],
      ],
      '',
    ],
    [
      'has seen a part of the list',
      [heard(placed), lost(replaced), heard(part)],
      [
        [A, ended],
        [B, open],
      ],
      'knows_every_end',
    ],
    [
      'has seen a list that is behind',
      [heard(placed), lost(replaced), heard(behind)],
      [
        [A, ended],
        [B, open],
      ],
      'knows_every_end',
    ],
    [
      'was told of the end by the history',
      [
        heard(placed),
        lost(cancelled),
        heard(answerTo('GET', paths.history, { entries: [{ orderHash: A, happened: 'REMOVED' }] })),
      ],
      [[A, ended]],
      '',
    ],
    ['has cancelled all', [heard(placed), heard(answerTo('POST', paths.cancelAll, {}))], [[A, ended]], ''],
    ['is told late that it was open', [heard(placed), heard(cancelled), heard(list(A))], [[A, ended]], ''],
  ])('that %s', (_what, steps, states, failed) => {
    expect(failuresOf(steps, states)).toBe(failed);
  });

  test('need not know yet what happened a moment ago', () => {
    const judge = new BotJudge(0);
    judge.learn(placed, 0, 0, true);
    judge.learn(replaced, 1000, 1000, false);
    const states = new Map<Hex, FinalState>([
      [A, { isOpen: false, endedAtMs: 1000 }],
      [B, open],
    ]);
    expect(judge.judge(GRACE_MS, states).every(({ passed }) => passed)).toBe(true);
    expect(judge.unanswered).toEqual({ stored: new Set([B]), ended: new Set([A]) });
  });

  test('does not learn from a list about orders that came after the request', () => {
    const judge = new BotJudge(0);
    judge.learn(placed, 100, 200, true);
    judge.learn(list(), 150, 300, true);
    expect(judge.believedOpen).toEqual([A]);
  });

  test('fails if it sends a signed read twice or stops', () => {
    const judge = new BotJudge(0);
    for (const salt of ['1', '2', '1']) judge.noteRequest(0, salt);
    const failed = judge.judge(GRACE_MS + 1).flatMap(({ check, passed }) => (passed ? [] : check));
    expect(failed).toEqual(['signs_reads_anew', 'goes_on']);
  });
});
