import type { Hex } from '@makerbook/contracts-primitives';
import { noExits } from '@makerbook/domain';
import type { LogRecord } from '@makerbook/kafka';
import type { MakerRow } from '@makerbook/postgres';
import { mayBeForgotten, type Tables } from '@makerbook/projector/testing';
import type { ExpectedRows, Replay } from './replay-log.js';

/** The parts of a published message that are compared. */
interface PublishedMessage {
  readonly id: string;
  readonly key: string;
  readonly content: string;
}

/** Finds the first message of the feeds that differs from the replay. Each message comes once and in order. */
export function judgeFeeds(published: readonly LogRecord[], { messages }: Replay): string[] {
  const all = published.map(messageOf);
  for (let index = 0; index < Math.max(all.length, messages.length); index += 1) {
    const [is, must] = [all[index], messages[index]];
    if (is?.id === must?.id && is?.key === must?.key && is?.content === must?.content) continue;
    return [`message ${index} is ${lineOf(is)}, and must be ${lineOf(must)}`];
  }
  return [];
}

/** Finds rows that differ from the replay or are ahead of the feeds. */
export function judgeRows(tables: Tables, replay: Replay, published: readonly LogRecord[]): string[] {
  const { nextOffset, blockParts } = tables.projection;
  const before = replay.messages.filter(({ offset }) => offset < nextOffset).length;
  if (published.length < before)
    return [`the rows are at ${nextOffset}, with ${published.length} messages published of ${before}`];
  const must = replay.rows.get(nextOffset);
  if (must === undefined) return [`the rows are at ${nextOffset}, where no fact begins`];
  const { clock, clockMs } = tables.projection;
  if (clock.block !== must.clock.block || clock.seconds !== must.clock.seconds || clockMs !== must.clockMs) {
    const [is, expected] = [tables.projection, must].map((one) => JSON.stringify([one.clock, one.clockMs]));
    return [`at ${nextOffset} the clocks are at ${is}, and must be at ${expected}`];
  }
  const { book } = tables.projection;
  if (blockParts === 0 && (book.hash !== must.book.hash || book.entries !== must.book.entries))
    return [`at ${nextOffset} the book is ${JSON.stringify(book)}, and must be ${JSON.stringify(must.book)}`];
  const folded = [...tables.inFlight].find(([key]) => tables.hashes.get(key)?.state === 'ACCEPTED');
  if (folded !== undefined) return [`at ${nextOffset} ${folded[0]} is in flight, and is folded`];
  if (blockParts === 0) return [...judgeMakers(tables, must), ...judgeHistory(tables, must, replay)];
  const later = replay.rows.get(nextOffset + 1n);
  return [...judgeMakers(tables, must, later), ...judgeBegun(tables, must, replay, published)];
}

/** Finds where the rows are ahead of the feeds in the middle of a block. */
function judgeBegun(tables: Tables, must: ExpectedRows, replay: Replay, published: readonly LogRecord[]): string[] {
  const { nextOffset } = tables.projection;
  return replay.messages.flatMap(({ offset, maker }, index) => {
    if (offset !== nextOffset || maker === undefined || index < published.length) return [];
    const isDone = describeMaker(maker, tables) !== (must.makers.get(maker) ?? unknown);
    return isDone ? [`the rows have ${maker} at ${nextOffset}, with ${published.length} messages published`] : [];
  });
}

function judgeMakers(tables: Tables, must: ExpectedRows, later?: ExpectedRows): string[] {
  const wrong: string[] = [];
  for (const maker of new Set([...tables.makers.keys(), ...must.makers.keys()])) {
    const is = describeMaker(maker, tables);
    const expected = must.makers.get(maker) ?? unknown;
    if (is === expected || is === later?.makers.get(maker)) continue;
    wrong.push(`at ${tables.projection.nextOffset} the rows of ${maker} are\n    ${is}, and must be\n    ${expected}`);
  }
  return wrong;
}

function judgeHistory(tables: Tables, must: ExpectedRows, replay: Replay): string[] {
  const is = tables.history.map(({ logOffset, happened, orderHash, remaining, maker, cappedUntil }) => {
    return `${logOffset} ${happened} ${orderHash} ${remaining} ${maker} ${cappedUntil}`;
  });
  const expected = replay.history.slice(0, must.history);
  const at = `at ${tables.projection.nextOffset}`;
  if (is.join() !== expected.join())
    return [`${at} the history is\n    ${is.join('\n    ')}\n  and must be\n    ${expected.join('\n    ')}`];
  const fills = [...tables.fills.values()].map(({ blockNumber, logIndex, orderHash, maker, logOffset }) => {
    return `${blockNumber} ${logIndex} ${orderHash} ${maker} ${logOffset}`;
  });
  const expectedFills = [...replay.fills.values()].slice(0, must.fills).map((line) => line.split(' ', 5).join(' '));
  if (fills.join() !== expectedFills.join()) return [`${at} the fills are ${fills}, and must be ${expectedFills}`];
  const [hashes, expectedHashes] = [tables.hashes, must.hashes].map((rows) => describeHashes(rows, tables));
  return hashes === expectedHashes ? [] : [`${at} of hashes is remembered ${hashes}, and must be ${expectedHashes}`];
}

/** Leaves out hashes that may be deleted. */
function describeHashes(rows: Tables['hashes'], tables: Tables): string {
  const lines = [...rows.values()].flatMap((row) => {
    const { orderHash, maker, state, salt, nonce, expiresAtSeconds, keptUntilSeconds } = row;
    const line = [orderHash, maker, state, salt, nonce, expiresAtSeconds, keptUntilSeconds].join(' ');
    return mayBeForgotten(row, tables) ? [] : [line];
  });
  return lines.sort().join('; ');
}

/** Finds rows in flight after all is folded and no append is in flight. */
export function judgeEnd({ inFlight, cancelling }: Tables): string[] {
  const left = inFlight.size + cancelling.length;
  return left === 0 ? [] : [`at the end ${left} rows are in flight`];
}

/** What the book shows of each order must be what its row says. */
export function judgeBook({ orders, makers }: Tables, published: readonly LogRecord[]): string[] {
  const book = new Map<string, string>();
  for (const { key, value } of published) {
    const status = value === null ? undefined : (JSON.parse(value.toString()).status as string | undefined);
    if (status === undefined) book.delete(key);
    else book.set(key, status);
  }
  const wrong: string[] = [];
  for (const key of new Set<string>([...book.keys(), ...orders.keys()])) {
    const row = orders.get(key as Hex);
    const must = row?.inBook ? row.status : undefined;
    if (book.get(key) !== must) wrong.push(`${key} is ${book.get(key)} in the book, and ${must} by its row`);
    const maker = row && makers.get(row.maker);
    if (!book.has(key) || maker === undefined) continue;
    if (maker.quarantinedOffset !== null) wrong.push(`${key} of a quarantined maker is in the book`);
    if (maker.admission === 'SUSPENDED' || maker.admission === 'REMOVED')
      wrong.push(`${key} of a maker who is ${maker.admission} is in the book`);
  }
  return wrong;
}

function describeMaker(maker: Hex, { makers, funding, orders }: Tables): string {
  const row = makers.get(maker);
  return row === undefined ? unknown : describeRows(row, funding, ordersOf(maker, orders));
}

const unknown = JSON.stringify([['UNKNOWN', {}, null], null, null, [], [], ['0', 0]]);

function describeRows(row: MakerRow, funding: Tables['funding'], orders: ReturnType<typeof ordersOf>): string {
  const { quarantinedOffset, quarantineReason, quarantineClock } = row;
  return JSON.stringify([
    [row.admission, row.limits, { ...noExits, ...row.exits }, row.nonce === null ? null : [row.nonce, row.nonceBlock]],
    row.dueAtSeconds,
    quarantinedOffset === null ? null : [String(quarantinedOffset), quarantineReason, quarantineClock],
    [...funding.values()]
      .filter(({ maker }) => maker === row.maker)
      .map(({ token, openOrders, balance, allowance, block }) => {
        return [token, openOrders, balance === null ? undefined : [balance, allowance, block]];
      })
      .sort(),
    orders.map((order) => [
      order.recordStart,
      [String(order.acceptedOffset), order.acceptedAtMs, order.expiresAtSeconds],
      [order.remaining, order.isObserved, order.inBook, order.cappedUntil],
      [order.status, order.reason],
      order.walletSignature,
    ]),
    [String(row.listVersion), row.openOrders],
  ]);
}

function ordersOf(maker: Hex, orders: Tables['orders']) {
  const own = [...orders.values()].filter((order) => order.maker === maker);
  return own.sort((a, b) => (a.acceptedOffset < b.acceptedOffset ? -1 : 1));
}

function messageOf({ key, value, headers }: LogRecord): PublishedMessage {
  return { id: headers['ce_id'] ?? '', key, content: value === null ? (headers['removal'] ?? '') : value.toString() };
}

function lineOf(message: PublishedMessage | undefined): string {
  return message === undefined ? 'nothing' : `${message.id} ${message.key} ${message.content}`;
}
