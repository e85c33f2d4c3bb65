import { askOracle, type OracleBook } from '@makerbook/book/testing';
import type { BookClock, BookEntry, Fill } from '@makerbook/contracts-events';
import {
  type BookFill,
  type BookFills,
  type BookLadder,
  type BookPairs,
  type BookQuote,
  paths,
  QUOTED_ORDERS_MAX,
} from '@makerbook/contracts-http';
import type { Hex } from '@makerbook/contracts-primitives';
import { isRefusal } from '@makerbook/http';
import type { LogInMemory } from '@makerbook/kafka/testing';
import { TOPICS } from '../run-processes.js';
import { type AnsweredQuestion, STALE_SECONDS_MAX } from '../visit-feed.js';

/** Keyed by partition. A message without a body is a tombstone. */
type Messages = readonly (readonly { readonly key: string; readonly body: object | undefined }[])[];

/** The book, read in the plainest way. */
interface PlainBook {
  readonly entries: ReadonlyMap<Hex, BookEntry>;
  readonly changes: OracleBook['changes'];
  readonly clocks: ReadonlyMap<number, BookClock>;
  readonly block: number | null;
}

const NOTHING = { amountOut: 0n };
const GAS_PER_ORDER = 72_000;
const MILLION = 1_000_000n;

/** Finds answers of feed that differ from the records it had read, sorted and summed one by one. */
export function judgeFeed(log: LogInMemory, partitions: number, all: readonly AnsweredQuestion[]): string[] {
  const messagesOf = (topic: string): Messages =>
    Array.from({ length: partitions }, (_, partition) =>
      log.records(topic, partition).map(({ key, value }) => {
        return { key, body: value === null ? undefined : JSON.parse(value.toString()) };
      }),
    );
  const [book, fills] = [messagesOf(TOPICS.book), messagesOf(TOPICS.fills)];
  return all.flatMap((one) => {
    const { path, params, query, reply, held, read, isCalm } = one;
    const asked = `feed is asked ${JSON.stringify({ path, ...params, ...query })} and`;
    if (isRefusal(reply)) return reply.code === 'unavailable' && !isCalm ? [] : [`${asked} refuses: ${reply.detail}`];
    const { [TOPICS.book]: first = [] } = held;
    const { [TOPICS.book]: own = [] } = read;
    if (first.some((length, at) => length > (own[at] ?? 0)))
      return [`${asked} answers when it has read ${own} of ${first}`];
    const body = JSON.parse(String(reply.body));
    const [is, must] =
      path === paths.bookFills
        ? [describePage(body), expectPage(fills, one)]
        : [describeAnswer(body), expectAnswer(foldBook(book, own), one, body)];
    const [isText, mustText] = [is, must].map((each) => JSON.stringify(each, bigintAsText));
    return isText === mustText ? [] : [`${asked} says\n    ${isText}, and must say\n    ${mustText}`];
  });
}

function foldBook(messages: Messages, read: readonly number[]): PlainBook {
  const [entries, clocks] = [new Map<Hex, BookEntry>(), new Map<number, BookClock>()];
  const changes: OracleBook['changes'][number][] = [];
  for (const [partition, all] of messages.entries()) {
    for (const { key, body } of all.slice(0, read[partition])) {
      const orderHash = key as Hex;
      if (key.startsWith('clock:')) clocks.set(partition, body as BookClock);
      else if (body === undefined) {
        entries.delete(orderHash);
        changes.push({ kind: 'removed', orderHash });
      } else {
        entries.set(orderHash, body as BookEntry);
        changes.push({ kind: 'entry', entry: body as BookEntry });
      }
    }
  }
  const blocks = [...clocks.values()].map(({ block }) => block.number);
  return { entries, changes, clocks, block: blocks.length < messages.length ? null : Math.min(...blocks) };
}

type Answer = BookLadder | BookPairs | BookQuote;

function expectAnswer(book: PlainBook, { path, params, query, atMs }: AnsweredQuestion, answer: Answer): unknown {
  const nowSeconds = atMs / 1000;
  const timeOf = ({ position }: BookEntry) => book.clocks.get(position.partition)?.block.timestamp ?? 0;
  const ofPair = (making = '', taking = '') => {
    const entries = [...book.entries].filter(
      ([, entry]) => entry.order.making.token === making && entry.order.taking.token === taking,
    );
    const fresh = entries.filter(([, entry]) => nowSeconds - timeOf(entry) <= STALE_SECONDS_MAX);
    const changes = book.changes.filter((one) => one.kind !== 'entry' || one.entry.order.making.token === making);
    return { active: entries.filter(([, { status }]) => status === 'ACTIVE').length, entries: new Map(fresh), changes };
  };
  const { backups = 0 } = query;
  const options = { backups: Number(backups), ordersMax: QUOTED_ORDERS_MAX, gasFloor: undefined, nowSeconds };
  const limit = Number(query['limit']);
  if (path === paths.bookLadder)
    return [book.block, askOracle(ofPair(params['making'], params['taking']), NOTHING, options).levels.slice(0, limit)];
  if (path === paths.bookPairs) {
    const pairs = query['pairs']?.split(',').map((pair) => ofPair(...pair.split('-'))) ?? [];
    const levelsOf = (pair: OracleBook) => askOracle(pair, NOTHING, options).levels.slice(0, limit);
    return [book.block, pairs.map((pair) => [pair.active, levelsOf(pair)])];
  }
  const { amountIn, amountOut = 0, amountOutPerMillionGas: gas } = query;
  const asked = amountIn === undefined ? { amountOut: BigInt(amountOut) } : { amountIn: BigInt(amountIn) };
  const gasFloor = gas === undefined ? undefined : costOf(GAS_PER_ORDER, gas);
  const { quote } = askOracle(ofPair(query['tokenOut'], query['tokenIn']), asked, { ...options, gasFloor });
  const gasUsed = 'gasUsed' in answer ? answer.gasUsed : 0;
  return { ...quote, ...(gas && { net: quote.amountOut - costOf(gasUsed, gas) }) };
}

/** The cost of the gas, rounded up. */
const costOf = (gas: number, perMillion: string) => (BigInt(gas) * BigInt(perMillion) + MILLION - 1n) / MILLION;

type Level = BookLadder['levels'][number];

function describeAnswer(body: Answer): unknown {
  const levelsOf = (levels: readonly Level[] = []) =>
    levels.map(({ amountIn, amountOut, orders }) => [amountIn, amountOut, orders]);
  const block = body.block?.number ?? null;
  if ('levels' in body) return [block, levelsOf(body.levels)];
  if ('pairs' in body) return [block, body.pairs.map(({ orders, levels }) => [orders, levelsOf(levels)])];
  const nameOf = ({ orderHash }: { readonly orderHash: Hex }) => orderHash.slice(2, 4);
  return {
    fills: body.fills.map((fill) => [nameOf(fill), fill.makingAmount, fill.takingAmount]),
    spares: body.spares.map((fill) => [nameOf(fill), fill.executable]),
    amountIn: body.amountIn,
    amountOut: body.amountOut,
    passedOver: body.passedOver,
    ...(body.netAmountOut !== undefined && { net: body.netAmountOut }),
  };
}

/** The newest fills before the cursor that pass the filters, each once. */
function expectPage(messages: Messages, { read, query }: AnsweredQuestion): unknown {
  const byPlace = new Map<number, Fill>();
  for (const [partition, all] of messages.entries()) {
    for (const { body } of all.slice(0, read[TOPICS.fills]?.[partition])) {
      const fill = body as Fill;
      byPlace.set(placeOf(fill), byPlace.get(placeOf(fill)) ?? fill);
    }
  }
  const [blockNumber = 0, logIndex = 0] = query['cursor']?.split(':').map(Number) ?? [Number.MAX_SAFE_INTEGER];
  const { maker, making, limit } = query;
  const isMeant = (fill: Fill) =>
    placeOf(fill) < placeOf({ blockNumber, logIndex }) &&
    (maker === undefined || fill.maker === maker) &&
    (making === undefined || fill.makingToken === making);
  const meant = [...byPlace.values()].filter(isMeant).sort((one, other) => placeOf(other) - placeOf(one));
  return [meant.slice(0, Number(limit)).map(describeFill), meant.length > Number(limit)];
}

export const placeOf = ({ blockNumber, logIndex }: Pick<Fill, 'blockNumber' | 'logIndex'>) =>
  blockNumber * 1_000 + logIndex;

const describePage = ({ fills, nextCursor }: BookFills) => [fills.map(describeFill), nextCursor !== null];

export const describeFill = ({
  blockNumber,
  logIndex,
  orderHash,
  maker,
  makingAmount,
  takingAmount,
}: BookFill | Fill) => [blockNumber, logIndex, orderHash, maker, makingAmount, takingAmount].join(' ');

const bigintAsText = (_key: string, value: unknown) => (typeof value === 'bigint' ? String(value) : value);
