import type { Address, Hex } from '@makerbook/contracts-primitives';
import {
  applyDecisions,
  type DecidedRequest,
  decide,
  draftOf,
  type HashKey,
  type Placement,
  type Verdict,
} from '@makerbook/domain';
import { gatherCalls, PostgresUnavailable } from '@makerbook/postgres';
import type { Group, ReadAndWrite, Reading, Store, Wanted } from '../store/store.js';

/** A waiting request. Its age at the decision tells when it was received, by the clock of the store. */
export interface Asked {
  readonly requestId: string;
  readonly request: DecidedRequest;
  /** By the monotonic clock of this process. */
  readonly receivedAtMs: number;
}

/** A verdict whose decisions are stored. */
export interface Decided extends Verdict {
  /** The time by which it was decided. */
  readonly nowMs: number;
  /** When the read began, by the monotonic clock of this process. Time limits of the decision count from then. */
  readonly begunAtMs: number;
}

/** Decides a request. @throws PostgresUnavailable if it is unknown what was stored */
export type Decide = (asked: Asked) => Promise<Decided>;

const REQUESTS_MAX = 64;
/** The most orders in a statement, so that a small request does not wait long for large ones. */
const ORDERS_MAX = 400;
/** How often a request is decided before it locks its makers' rows. */
const TRIES_MAX = 3;
const LOCKED_AT_ONCE_MAX = 4;

/**
 * Waiting requests share one read and one write. If a group is not written, its requests are decided again. Requests
 * that cancel have their own statements, so they never wait for requests that place.
 */
export function decideTogether(store: Store, monotonicMs: () => number): Decide {
  const share = () =>
    gatherCalls<Asked, Decided | undefined>({
      atOnceMax: 1,
      itemsMax: REQUESTS_MAX,
      sizeOf: ({ request }) => sizeOf(request),
      sizeMax: ORDERS_MAX,
      decide: (asked) => decideAll(store, asked, monotonicMs),
    });
  const [placing, cancelling] = [share(), share()];
  const namesOf = ({ request }: Asked) => makersOf(request).toSorted().join();
  const locking = gatherCalls<Asked, Decided | undefined>({
    atOnceMax: LOCKED_AT_ONCE_MAX,
    itemsMax: REQUESTS_MAX,
    mayJoin: (one, first) => namesOf(one) === namesOf(first),
    decide: (asked) => {
      const makers = [...new Set(asked.flatMap(({ request }) => makersOf(request)))].sort();
      return store.alone(makers, (locked) => decideAll(locked, asked, monotonicMs));
    },
  });
  return async (asked) => {
    const together = chargesOrders(asked.request) ? placing : cancelling;
    for (let left = TRIES_MAX; left > 0; left -= 1) {
      const decided = await together(asked);
      if (decided !== undefined) return decided;
    }
    const decided = await locking(asked);
    if (decided === undefined) throw new PostgresUnavailable('other requests came first every time');
    return decided;
  };
}

function chargesOrders(request: DecidedRequest): boolean {
  if (request.kind === 'cancellation') return request.unplaced.length > 0;
  return request.kind === 'placement' || request.kind === 'replacement';
}

function sizeOf(request: DecidedRequest): number {
  switch (request.kind) {
    case 'placement':
      return request.orders.length;
    case 'cancellation':
      return request.hashes.length + request.unplaced.length;
    case 'replacement':
      return request.cancels.length + request.placement.orders.length;
    default:
      return 1;
  }
}

/** @returns undefined for the requests that another process has overtaken */
async function decideAll(
  store: ReadAndWrite,
  all: readonly Asked[],
  monotonicMs: () => number,
): Promise<(Decided | undefined)[]> {
  const begunAtMs = monotonicMs();
  const reading = await store.read(wantedOf(all.map(({ request }) => request)));
  const { clockMs, nowMs } = reading;
  const readAtMs = monotonicMs();
  const draft = draftOf(reading.standing);
  const verdicts = all.map(({ request, receivedAtMs }) => {
    // Never later than the request came, whenever the store read its clock. Notes have times of that clock.
    const received = clockMs - (readAtMs - receivedAtMs);
    const verdict = decide(draft, withArrival(request, received), nowMs);
    applyDecisions(draft, verdict.decisions, nowMs);
    return verdict;
  });
  const isStored = await writeAll(store, reading, all, verdicts);
  return verdicts.map((verdict, index) => (isStored[index] ? { ...verdict, nowMs, begunAtMs } : undefined));
}

function withArrival(request: DecidedRequest, receivedAtMs: number): DecidedRequest {
  if (request.kind === 'placement') return { ...request, receivedAtMs };
  if (request.kind === 'replacement') return { ...request, placement: { ...request.placement, receivedAtMs } };
  return request;
}

/** Requests that share makers, directly or through others, are stored all or none. */
async function writeAll(
  store: ReadAndWrite,
  reading: Reading,
  all: readonly Asked[],
  verdicts: readonly Verdict[],
): Promise<boolean[]> {
  const groupOf = new Map<Address, number>();
  const requests: number[][] = [];
  for (const [index, { request }] of all.entries()) {
    const makers = makersOf(request);
    const met = new Set(makers.flatMap((maker) => groupOf.get(maker) ?? []));
    const joined = [...met].flatMap((group) => requests[group] ?? []);
    for (const group of met) requests[group] = [];
    const group = requests.push([...joined, index].sort((a, b) => a - b)) - 1;
    for (const [maker, of] of groupOf) if (met.has(of)) groupOf.set(maker, group);
    for (const maker of makers) groupOf.set(maker, group);
  }
  const isWriting = (index: number) => (verdicts[index]?.decisions.length ?? 0) > 0;
  const writing = requests.filter((group) => group.some(isWriting));
  const groups: Group[] = writing.map((group) =>
    group.filter(isWriting).map((index) => {
      return { requestId: all[index]?.requestId ?? '', decisions: verdicts[index]?.decisions ?? [] };
    }),
  );
  const stored = groups.length === 0 ? [] : await store.write(reading, groups);
  const overtaken = new Set(writing.flatMap((group, at) => (stored[at] ? [] : group)));
  return all.map((_, index) => !overtaken.has(index));
}

function makersOf(request: DecidedRequest): readonly Address[] {
  switch (request.kind) {
    case 'placement':
      return request.makers.map(({ maker }) => maker);
    case 'replacement':
      return [...makersOf(request.placement), ...request.cancels.map(({ maker }) => maker)];
    case 'cancellation':
      return [...new Set([...request.hashes, ...request.unplaced].map(({ maker }) => maker))];
    case 'cancel-all':
    case 'instruction':
      return [request.maker];
  }
}

function wantedOf(requests: readonly DecidedRequest[]): Wanted {
  const placements = requests.flatMap((request): Placement[] =>
    request.kind === 'placement' ? [request] : request.kind === 'replacement' ? [request.placement] : [],
  );
  const cancels = requests.flatMap((request) => (request.kind === 'replacement' ? request.cancels : []));
  const unplaced = requests.flatMap((request) => (request.kind === 'cancellation' ? request.unplaced : []));
  const placed = placements.flatMap(({ orders }) =>
    orders.map(({ order, orderHash }): HashKey => ({ orderHash, maker: order.maker })),
  );
  return {
    makers: [...new Set(requests.flatMap(makersOf))].sort().map((maker) => {
      const limits = placements.flatMap(({ makers }) => makers.filter((one) => one.maker === maker));
      const asked = placements.flatMap(({ orders }) => orders.filter(({ order }) => order.maker === maker));
      const openOrdersMax = Math.min(Number.MAX_SAFE_INTEGER, ...limits.map((one) => one.openOrdersMax));
      return { maker, countExpiredBeyond: openOrdersMax - asked.length };
    }),
    isPlacing: placements.length > 0 || unplaced.length > 0,
    isInstructing: requests.some(({ kind }) => kind === 'instruction'),
    isCancellingAll: requests.some(({ kind }) => kind === 'cancel-all'),
    hashes: [...placed, ...cancels, ...unplaced],
    replaced: cancels.map(({ orderHash }): Hex => orderHash),
  };
}
