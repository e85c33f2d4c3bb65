import type { Address, Hex } from '@makerbook/contracts-primitives';
import {
  applyDecisions,
  type Decision,
  type Draft,
  draftOf,
  type HashRows,
  type HashStanding,
  type MakerStanding,
  type Standing,
} from '@makerbook/domain';
import { newMaker } from '@makerbook/domain/testing';
import { PostgresUnavailable } from '@makerbook/postgres';
import type { ReadAndWrite, Store } from '../store/store.js';

/** A store in memory for one process, whose standing a test sets and reads. */
export function holdTestStore(nowMs: () => number) {
  const makers = new Map<Address, MakerStanding>();
  const held = {
    isAway: false,
    trustedSinceMs: 0 as Standing['trustedSinceMs'],
    makers,
    hashes: new Map<Hex, HashStanding>(),
    /** The rows of hashes that are looked up. */
    rows: new Map<Hex, Partial<HashRows>>(),
    /** When orders of `rows` were accepted, if it matters. */
    acceptedAtMs: new Map<Hex, number>(),
    /** Orders that have only been VALIDATING. */
    unjudged: new Set<Hex>(),
    decisions: [] as Decision[],
    released: [] as (readonly Hex[])[],
    /** How far the newest time of a row is ahead of the clock of the store. */
    rowsAheadMs: 0,
    /** How often the next writes are overtaken. */
    overtaken: 0,
    onWrite: (): void => undefined,
    set: (maker: Address, more: Partial<MakerStanding>) =>
      void makers.set(maker, { ...newMaker, ...makers.get(maker), ...more }),
  };
  const reach = () => {
    if (held.isAway) throw new PostgresUnavailable('away');
  };
  const readAndWrite: ReadAndWrite = {
    async read(wanted) {
      reach();
      for (const { maker } of wanted.makers) if (!makers.has(maker)) held.set(maker, {});
      const clockMs = nowMs();
      return { standing: draftOf(held), versions: new Map(), clockMs, nowMs: clockMs + held.rowsAheadMs };
    },
    async write(_reading, groups) {
      reach();
      held.onWrite();
      return groups.map((group) => {
        held.overtaken -= 1;
        if (held.overtaken >= 0) return false;
        const decisions = group.flatMap((request) => request.decisions);
        held.decisions.push(...decisions);
        applyDecisions(held as Draft, decisions, nowMs());
        return true;
      });
    },
  };
  const store: Store = {
    ...readAndWrite,
    alone: (_makers, work) => work(readAndWrite),
    async findHashes(orderHashes) {
      reach();
      const rows = orderHashes.map((orderHash) => ({ isAccepted: false, ...held.rows.get(orderHash) }));
      return { nowMs: nowMs(), trustedSinceMs: held.trustedSinceMs, rows };
    },
    async findBySalts({ maker, salts, untilMs }) {
      reach();
      if (held.trustedSinceMs === undefined) return 'untrusted';
      return [...held.rows].flatMap(([orderHash, { open, inFlight, unfolded }]) => {
        const order = open ?? inFlight ?? unfolded;
        const isMeant = order?.maker === maker && salts.includes(order.salt);
        const isInTime = (held.acceptedAtMs.get(orderHash) ?? 0) <= untilMs;
        const isCancelling = held.hashes.get(orderHash)?.isCancelling === true;
        return isMeant && isInTime ? [{ ...order, orderHash, isCancelling }] : [];
      });
    },
    async wereNeverInBook(orderHashes) {
      reach();
      return orderHashes.every((hash) => held.unjudged.has(hash));
    },
    async note(orderHashes) {
      for (const hash of orderHashes) held.rows.set(hash, { ...held.rows.get(hash), notedUntilMs: nowMs() });
    },
    release: async (_requestId, ...released) => void held.released.push(released.flat()),
    forgetNotes: async () => undefined,
    beginTrust: async () => ({ sinceMs: 0, isTrusted: true }),
    endTrust: async () => undefined,
  };
  return { held, store };
}
