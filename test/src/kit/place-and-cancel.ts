import { type MakerbookClient, MakerbookError, type SignedOrder } from '@makerbook/client';
import { beginAtPace } from './generate-load.js';

const DAY_SECONDS = 86_400;

/** A maker, with a function that signs its next order. */
export interface PlacingMaker {
  readonly client: Pick<MakerbookClient, 'placeOrders' | 'listOrders' | 'cancelOrders'>;
  sign(): Promise<SignedOrder>;
}

/** A maker whose orders sell some of the first token for some of the second, and are good for a day. */
export function placingMaker(client: MakerbookClient, tokens: readonly { readonly address: string }[]): PlacingMaker {
  const [making = '', taking = ''] = tokens.map(({ address }) => address);
  const sign = () =>
    client.signOrder({
      making: { token: making, amount: 100n },
      taking: { token: taking, amount: 50n },
      expiresAt: Math.floor(Date.now() / 1000) + DAY_SECONDS,
    });
  return { client, sign };
}

type Call = 'place' | 'list' | 'cancel';

/**
 * One maker after the other places an order, lists, and cancels its oldest order. There are no retries. Each round
 * starts when it is due, whether answers come or not.
 * @param options.openOrders how many orders a maker keeps open. Beyond that, it cancels the oldest for each new order
 */
export function placeAndCancel(
  makers: readonly PlacingMaker[],
  { roundsPerSecond, openOrders }: { readonly roundsPerSecond: number; readonly openOrders: number },
) {
  const record = createRecord();
  const turns = makers.map((maker): Turn => ({ maker, open: new Set() }));
  let rounds = 0;
  const pace = beginAtPace(roundsPerSecond, async () => {
    const turn = turns[rounds % turns.length];
    if (turn === undefined) throw new Error('there is no maker');
    rounds += 1;
    await place(turn, record);
    await list(turn, record);
    if (turn.open.size > openOrders) await cancelOldest(turn, record);
  });
  return {
    /** Milliseconds of each call that was answered with 200 until now. */
    tookMs: record.tookMs,
    /** The longest time, in ms, from one answer with 200 to the next of the same call. */
    silentMs: record.silentMs,
    /** When each call was last answered with 200. */
    answeredAtMs: record.answeredAtMs,
    /** The failures until now, each with its second since the start. */
    failures: record.failures as readonly string[],
    /** Ends the load once what is in flight has been answered. @returns the last acknowledged state of each order */
    async stop(): Promise<ReadonlyMap<string, 'placed' | 'cancelled'>> {
      await pace.stop();
      return record.acknowledged;
    },
  };
}

interface Turn {
  readonly maker: PlacingMaker;
  /** Acknowledged orders whose cancellation has not begun, oldest first. */
  readonly open: Set<SignedOrder>;
}

type LoadRecord = ReturnType<typeof createRecord>;

function createRecord() {
  const startMs = performance.now();
  const acknowledged = new Map<string, 'placed' | 'cancelled'>();
  const failures: string[] = [];
  const tookMs = { place: [] as number[], list: [] as number[], cancel: [] as number[] };
  const silentMs = { place: 0, list: 0, cancel: 0 };
  const answeredAtMs = new Map<Call, number>();
  const note = (what: string) => failures.push(`${((performance.now() - startMs) / 1000).toFixed(1)} s: ${what}`);
  const ask = async <T>(name: Call, call: Promise<T>): Promise<T | undefined> => {
    const sentAtMs = performance.now();
    try {
      const answer = await call;
      const nowMs = performance.now();
      tookMs[name].push(nowMs - sentAtMs);
      silentMs[name] = Math.max(silentMs[name], nowMs - (answeredAtMs.get(name) ?? nowMs));
      answeredAtMs.set(name, nowMs);
      return answer;
    } catch (error) {
      if (!(error instanceof MakerbookError)) throw error;
      note(`${name} ${error.status} ${error.code}: ${error.message}`);
      return undefined;
    }
  };
  return { acknowledged, failures, tookMs, silentMs, answeredAtMs, note, ask };
}

async function place({ maker, open }: Turn, { acknowledged, ask }: LoadRecord): Promise<void> {
  const order = await maker.sign();
  if ((await ask('place', maker.client.placeOrders([order]))) === undefined) return;
  acknowledged.set(order.orderHash, 'placed');
  open.add(order);
}

async function list({ maker, open }: Turn, { acknowledged, note, ask }: LoadRecord): Promise<void> {
  const before = [...open];
  const cancelled = [...acknowledged].filter(([, state]) => state === 'cancelled').map(([orderHash]) => orderHash);
  const answer = await ask('list', maker.client.listOrders());
  if (answer?.readLag !== 0) return;
  const listed = new Set<string>(answer.records.map(({ orderHash }) => orderHash));
  const missing = before.filter((order) => open.has(order) && !listed.has(order.orderHash)).length;
  const kept = cancelled.filter((orderHash) => listed.has(orderHash)).length;
  if (kept > 0) note(`the list has ${kept} orders whose cancellation was acknowledged`);
  if (missing > 0) note(`the list misses ${missing} of ${before.length} acknowledged orders`);
}

async function cancelOldest({ maker, open }: Turn, { acknowledged, note, ask }: LoadRecord): Promise<void> {
  const [oldest] = open;
  if (oldest === undefined) return;
  open.delete(oldest);
  const { orderHash, order } = oldest;
  const [cancellation] = (await ask('cancel', maker.client.cancelOrders([{ orderHash, salt: order.salt }]))) ?? [];
  if (cancellation?.status === 'CANCELLED') {
    acknowledged.set(orderHash, 'cancelled');
    return;
  }
  // It is unknown whether the order was cancelled.
  acknowledged.delete(orderHash);
  if (cancellation !== undefined) note(`cancelling an acknowledged order: ${cancellation.status}`);
}
