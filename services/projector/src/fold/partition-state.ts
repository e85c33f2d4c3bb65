import type { Address, Hex } from '@makerbook/contracts-primitives';
import type { LogClock } from '@makerbook/domain';
import type { LogRecord, StoredRecord } from '@makerbook/kafka';
import type { OrderRow, Quarantine, TakenProjection } from '@makerbook/postgres';
import { Changes } from '../commit/gather-changes.js';
import type { FeedRules } from './describe-feeds.js';
import { DueMakers } from './due-makers.js';
import { HeldMakers } from './hold-makers.js';
import type { UnreadableMaker } from './makers-from-rows.js';

/** A record that is to be set aside, for one maker alone. */
export interface ParkedFact {
  readonly record: StoredRecord;
  readonly reason: string;
}

/**
 * One partition as it is folded. All of it can be read again from Postgres and the log: after any failure it is dropped.
 */
export interface PartitionState {
  readonly rules: FeedRules;
  readonly makers: HeldMakers;
  readonly due: DueMakers;
  /** Makers whose rows cannot be read: the first fact about one quarantines it. */
  readonly unreadable: Map<Address, UnreadableMaker>;
  readonly quarantined: Map<Address, Quarantine>;
  /** Orders of quarantined makers that are still to leave the book. A row where one is stored. */
  readonly owed: Map<Address, Map<Hex, OrderRow | undefined>>;
  /** Of the hashes that the facts at hand are about: those that were accepted, and those cancelled before that. */
  readonly hashes: { readonly accepted: Set<Hex>; readonly cancelled: Set<Hex> };
  /** Throws a FatalError where more makers are quarantined than break by themselves. */
  readonly noteQuarantined: (maker: Address, reason: string) => void;
  /** What is before it is done. */
  nextOffset: bigint;
  /** Some makers of the block at `nextOffset` are done. */
  isBlockBegun: boolean;
  /** As of the last fact that is wholly done. */
  clock: LogClock;
  /** Since the last commit began. */
  gathered: Changes;
  /** Not empty: what was folded is not published, and is not committed. */
  readonly unpublished: LogRecord[];
  readonly toPark: ParkedFact[];
}

export function createState(
  { projection, due, quarantined, owed }: TakenProjection,
  rules: FeedRules,
  options: { readonly heldMax: number; readonly noteQuarantined: PartitionState['noteQuarantined'] },
): PartitionState {
  const hashes = { accepted: new Set<Hex>(), cancelled: new Set<Hex>() };
  const owedOf = Map.groupBy(owed, ({ maker }) => maker);
  return {
    rules,
    makers: new HeldMakers(options.heldMax, {
      routingGraceSeconds: rules.routingGraceSeconds,
      wasRemoved: (orderHash) => hashes.accepted.has(orderHash),
      wasCancelled: (orderHash) => hashes.cancelled.has(orderHash),
    }),
    due: new DueMakers(due),
    unreadable: new Map(),
    quarantined: new Map(quarantined),
    owed: new Map([...owedOf].map(([maker, rows]) => [maker, new Map(rows.map((row) => [row.orderHash, row]))])),
    hashes,
    noteQuarantined: options.noteQuarantined,
    nextOffset: projection.nextOffset,
    isBlockBegun: projection.isBlockBegun,
    clock: projection.clock,
    gathered: new Changes(),
    unpublished: [],
    toPark: [],
  };
}
