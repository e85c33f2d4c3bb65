import { type MakerbookClient, MakerbookError, type SignedOrder } from '@makerbook/client';
import type { Address } from '@makerbook/contracts-primitives';
import type { Chance } from '@makerbook/parts';
import type { TestMaker } from '../kit/open-maker.js';
import type { Attempt, OrderHistory } from './judge-orders.js';

export interface LoadMaker {
  readonly address: Address;
  readonly maker: TestMaker;
  readonly client: MakerbookClient;
  /** Signs with a key that may read for the maker. */
  readonly reader: MakerbookClient;
  /** The orders that it signed, oldest first. */
  readonly orders: OrderHistory[];
  /** Its nonce on the chain after the newest noted block. */
  nonce(): bigint;
  /** The nonce as last seen, and since when it has been so. */
  seen: { readonly nonce: bigint; readonly sinceMs: number } | undefined;
  /** True while a transaction is in flight. A wallet numbers them, so there is one at a time. */
  isMoving: boolean;
  readonly instructions: Instruction[];
}

/** A cap or a setting of the switch that a maker sent. */
export interface Instruction {
  /** The token, or `switch`. */
  readonly about: string;
  /** Undefined for a cap that is removed. */
  readonly terms: string | undefined;
  /** When it was signed. Undefined until an answer says that it is stored. */
  issuedAtMs?: number;
}

/** The requests and answers of the load so far. */
export interface LoadState {
  readonly chance: Chance;
  readonly makers: readonly LoadMaker[];
  readonly orders: OrderHistory[];
  /** Counts an outcome. `beganAtMs` is given if the answer was 200. */
  count(
    kind: 'POST' | 'GET' | 'DELETE' | 'REPLACE' | 'CAP' | 'BEAT' | 'ACCOUNT' | 'chain',
    outcome: string,
    beganAtMs?: number,
  ): void;
}

const LIFE_SECONDS = 10 * 86_400;
/** Indices into the stack's tokens: a plain one, and the wrapped native one. */
export const TOKENS = [0, 3] as const;
const AHEAD_ONE_IN = 12;
const AHEAD_MS = 2_000;
const SWITCH_SECONDS = [2, 10] as const;
/**
 * A watcher that is behind reads an order with a just raised nonce at an earlier block. If blocks are ahead of the
 * clock, the nonce then counts as one that never came.
 */
const NONCE_SETTLES_MS = 60_000;

/** Opens the requests of makers. Each resolves when it was answered or given up. */
export function openRequests(state: LoadState) {
  const { chance, makers, orders } = state;

  async function post(together: readonly OrderHistory[], { client }: LoadMaker): Promise<void> {
    let duplicate: number | undefined;
    const attempt = await attemptOf(async () => {
      await client.placeOrders(together.map(({ signed }) => signed)).catch((error: unknown) => {
        if (error instanceof MakerbookError && error.code === 'duplicate') duplicate = error.index;
        throw error;
      });
      return 'stored';
    });
    // A refusal is about one order, and refuses the others with it.
    for (const [index, { posts }] of together.entries())
      posts.push(duplicate === undefined || duplicate === index ? attempt : { ...attempt, outcome: 'refused' });
    state.count('POST', attempt.outcome, attempt.outcome === 'stored' ? attempt.beganAtMs : undefined);
  }

  return {
    /** Posts orders of one maker, at times with one of another maker among them. */
    async post(first: LoadMaker): Promise<void> {
      const second = chance.oneIn(6) ? chance.pickAny(makers) : undefined;
      const owners = [...Array.from({ length: chance.between(1, 3) }, () => first), ...(second ? [second] : [])];
      const drawn = owners.map((owner) => ({ owner, terms: drawTerms(chance), wasAhead: chance.oneIn(AHEAD_ONE_IN) }));
      const signed = await Promise.all(
        drawn.map(({ owner, terms, wasAhead }) =>
          owner.maker.sign({ ...terms, nonce: owner.nonce() + (wasAhead ? 1n : 0n) }),
        ),
      );
      const request = orders.length;
      const together = signed.map((each, index): OrderHistory => {
        const { owner, wasAhead: isAhead = false } = drawn[index] ?? {};
        // A just raised nonce is ahead, too, for a watcher that has not read its block yet.
        const wasAhead = isAhead || (owner !== undefined && isNonceNew(owner));
        return { signed: each, request, wasAhead, posts: [], cancels: [] };
      });
      orders.push(...together);
      for (const [index, order] of together.entries()) owners[index]?.orders.push(order);
      await post(together, first);
    },
    /** Posts an order after something has happened to it on the chain. */
    async postLate(owner: LoadMaker, signed: SignedOrder): Promise<void> {
      const order = { signed, request: orders.length, wasAhead: false, posts: [], cancels: [] };
      orders.push(order);
      owner.orders.push(order);
      await post([order], owner);
    },
    async postAgain(owner: LoadMaker): Promise<void> {
      const request = pickRequest(owner, chance);
      if (request === undefined) return;
      const together = orders.filter((order) => order.request === request);
      await post(together, owner);
    },
    /** Cancels some orders, even ones being placed or gone. At times cancels by their salts, which all differ. */
    async cancel({ orders: own, client }: LoadMaker): Promise<void> {
      const chosen = new Set(
        Array.from({ length: chance.between(1, 3) }, () => chance.pickAny(chance.oneIn(2) ? own.slice(-6) : own)),
      );
      const together = [...chosen].filter((order) => order !== undefined);
      if (together.length === 0) return;
      const { pairs, settle } = beginCancels(together);
      const bySalt = chance.oneIn(4);
      let answers: readonly string[] = [];
      const attempt = await attemptOf(async () => {
        const named = bySalt ? await saltsOf(client, pairs) : pairs;
        const told = new Map((await client.cancelOrders(named)).map((each) => [each.orderHash as string, each.status]));
        // An order that the answer does not name is neither open nor in flight.
        answers = pairs.map(({ orderHash }) => told.get(orderHash) ?? 'NOT_FOUND');
        return 'answered';
      });
      const outcomes = together.map((_, index) => answers[index] ?? attempt.outcome);
      settle(attempt, outcomes);
      for (const outcome of outcomes) state.count('DELETE', outcome);
    },
    replace: (owner: LoadMaker) => replaceSome(owner, state),
    cap: (owner: LoadMaker) => capSome(owner, state),
    beat: (owner: LoadMaker) => beat(owner, state),
    list: (owner: LoadMaker) => list(owner, state),
    account: (owner: LoadMaker) => readAccount(owner, state),
  };
}

/** Picks a request to repeat. Leaves out replacements: posted alone, their orders would add to the others. */
function pickRequest({ orders }: LoadMaker, chance: Chance): number | undefined {
  const alone = orders.filter(({ replaces }) => replaces === undefined);
  const unsure = alone.filter(({ posts }) => posts.length > 0 && posts.every(({ outcome }) => outcome !== 'stored'));
  return (chance.pickAny(unsure.slice(-20)) ?? chance.pickAny(alone))?.request;
}

/** Replaces orders that may be open. At times sends two requests at once, of which only one may be stored. */
async function replaceSome(owner: LoadMaker, state: LoadState): Promise<void> {
  const { chance } = state;
  const recent = owner.orders.filter(({ posts }) => posts.some(({ outcome }) => outcome === 'stored')).slice(-6);
  const gone = [...new Set([chance.pickAny(recent), chance.pickAny(recent)])].filter((one) => one !== undefined);
  if (gone.length === 0) return;
  const times = chance.oneIn(3) ? 2 : 1;
  await Promise.all(Array.from({ length: times }, () => replaceOnce(owner, gone, state)));
}

async function replaceOnce(owner: LoadMaker, gone: readonly OrderHistory[], state: LoadState): Promise<void> {
  const { chance, orders } = state;
  const signed = await owner.maker.sign({ ...drawTerms(chance), nonce: owner.nonce() });
  const replaces = gone.map((order) => order.signed.orderHash);
  const placed: OrderHistory = { signed, request: orders.length, wasAhead: false, replaces, posts: [], cancels: [] };
  orders.push(placed);
  owner.orders.push(placed);
  const { pairs, settle } = beginCancels(gone);
  const bySalt = chance.oneIn(4);
  const attempt = await attemptOf(async () => {
    await owner.client.replaceOrders(bySalt ? await saltsOf(owner.client, pairs) : pairs, [signed]);
    return 'stored';
  });
  placed.posts.push(attempt);
  const outcome = attempt.outcome === 'stored' ? 'CANCELLED' : attempt.outcome;
  settle(
    attempt,
    gone.map(() => outcome),
  );
  state.count('REPLACE', attempt.outcome);
}

/** Names orders by their salts, even ones that another process has accepted by a clock that is a little ahead. */
async function saltsOf(client: MakerbookClient, pairs: readonly { readonly salt: string }[]) {
  return { salts: pairs.map(({ salt }) => salt), untilMs: (await client.serverTimeMs()) + AHEAD_MS };
}

/** Caps a token so low that the next fill may exceed it, or removes the cap. */
async function capSome(owner: LoadMaker, { chance, count }: LoadState): Promise<void> {
  const token = owner.maker.tokenAt(chance.pick(TOKENS)).toLowerCase();
  const cap = { token, amount: chance.pick([0n, 1n, 100n]), windowSeconds: chance.pick([3, 10]) };
  const terms = cap.amount === 0n ? undefined : `${cap.amount} ${cap.windowSeconds}`;
  count('CAP', await instruct(owner, { about: token, terms }, () => owner.client.setFillCap(cap)));
}

/** Sets the maker's switch. If no heartbeat follows in time, it cancels what the maker has placed by then. */
async function beat(owner: LoadMaker, { chance, count }: LoadState): Promise<void> {
  const cancelAt = Math.floor(Date.now() / 1000) + chance.between(...SWITCH_SECONDS);
  const sent = { about: 'switch', terms: `${cancelAt}` };
  count('BEAT', await instruct(owner, sent, () => owner.client.sendHeartbeat(cancelAt)));
}

async function instruct(
  { instructions }: LoadMaker,
  sent: Instruction,
  send: () => Promise<{ readonly issuedAtMs: number }>,
): Promise<string> {
  instructions.push(sent);
  const { outcome, mayHaveHappened } = await attemptOf(async () => {
    sent.issuedAtMs = (await send()).issuedAtMs;
    return 'set';
  });
  if (!mayHaveHappened) instructions.splice(instructions.indexOf(sent), 1);
  return outcome;
}

function isNonceNew(owner: LoadMaker): boolean {
  const nonce = owner.nonce();
  const sinceMs = owner.seen === undefined ? Number.NEGATIVE_INFINITY : performance.now();
  if (owner.seen?.nonce !== nonce) owner.seen = { nonce, sinceMs };
  return owner.seen.sinceMs > performance.now() - NONCE_SETTLES_MS;
}

export function drawTerms(chance: Chance) {
  return {
    amount: BigInt(chance.between(1, 200)),
    expiresAt: Math.floor(Date.now() / 1000) + LIFE_SECONDS,
    token: chance.pick(TOKENS),
  };
}

async function list({ client, reader }: LoadMaker, { chance, count }: LoadState): Promise<void> {
  const by = chance.oneIn(4) ? reader : client;
  const { outcome, beganAtMs } = await attemptOf(() => by.listOrders().then(() => 'listed'));
  count('GET', outcome, outcome === 'listed' ? beganAtMs : undefined);
}

async function readAccount({ reader }: LoadMaker, { count }: LoadState): Promise<void> {
  const { outcome } = await attemptOf(() => reader.readAccount().then(() => 'read'));
  count('ACCOUNT', outcome);
}

/** Notes that these orders are being cancelled. `settle` notes the outcomes. */
function beginCancels(orders: readonly OrderHistory[]) {
  const nowMs = performance.now();
  const pending: Attempt = { outcome: 'pending', mayHaveHappened: true, beganAtMs: nowMs, endedAtMs: nowMs };
  const places = orders.map(({ cancels }) => cancels.push(pending) - 1);
  return {
    pairs: orders.map(({ signed }) => ({ orderHash: signed.orderHash, salt: signed.order.salt })),
    settle(attempt: Attempt, outcomes: readonly string[]): void {
      for (const [index, { cancels }] of orders.entries())
        cancels[places[index] ?? 0] = { ...attempt, outcome: outcomes[index] ?? attempt.outcome };
    },
  };
}

async function attemptOf(work: () => Promise<string>): Promise<Attempt> {
  const beganAtMs = performance.now();
  try {
    const outcome = await work();
    return { outcome, mayHaveHappened: true, beganAtMs, endedAtMs: performance.now() };
  } catch (error) {
    if (!(error instanceof MakerbookError)) throw error;
    return { outcome: error.code, mayHaveHappened: error.mayHaveHappened, beganAtMs, endedAtMs: performance.now() };
  }
}
