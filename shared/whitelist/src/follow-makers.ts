import { decodeMakersRecord, type ReadKeys } from '@makerbook/contracts-events';
import type { Address } from '@makerbook/contracts-primitives';
import { type Admission, type Maker, readKeysOf } from '@makerbook/domain';
import type { Following, Log, StoredRecord } from '@makerbook/kafka';
import type { Logger } from '@makerbook/telemetry';

/** The data that a key may be allowed to read: lists, streams, or the history. */
export type ReadRight = 'list' | 'stream' | 'history';

/** All makers in memory, from the compacted feed `limit-orders.makers.v1`. */
export interface Makers {
  admissionOf(maker: Address): Admission;
  /** The maker's own limits, which override the service's. */
  limitsOf(maker: Address): Maker['limits'];
  /** The maker's nonce as last seen on the chain; undefined if never read. */
  nonceOf(maker: Address): bigint | undefined;
  /** The addresses that may cancel for the maker. */
  cancelKeysOf(maker: Address): readonly Address[];
  /** True if the address may cancel for any maker. */
  isCancelKey(address: Address): boolean;
  /** True if the key may read this for the maker. */
  mayRead(maker: Address, key: Address, what: ReadRight): boolean;
  /** True while the service takes no new orders, by an operator's decision. */
  isCancelOnly(): boolean;
  /** How many makers may use the service. */
  admittedCount(): number;
  /** True once the feed was read to its end. Before that no maker can be refused or admitted. */
  isCaughtUp(): boolean;
  /** Resolves when `isCaughtUp` turns true. */
  readonly caughtUp: Promise<void>;
  /** How long the brokers have not answered, in milliseconds; Infinity before their first answer. */
  silenceMs(): number;
  stop(): Promise<void>;
}

interface KnownMaker extends Pick<Maker, 'admission' | 'limits'> {
  readonly nonce: bigint | undefined;
  readonly cancelKeys: readonly Address[];
  readonly readKeys: ReadKeys;
}

/**
 * Follows the feed from its beginning. Logs and skips an unreadable record: it concerns one maker, whose older record
 * stays.
 */
export function followMakers(
  log: Pick<Log, 'followTopic'>,
  topic: string,
  logger: Logger,
  onFatal: (error: Error) => void,
): Makers {
  const known = new Map<string, KnownMaker>();
  let isCaughtUp = false;
  let isCancelOnly = false;

  function take(record: StoredRecord): void {
    if (record.value === null) {
      known.delete(record.key);
      return;
    }
    const view = decodeMakersRecord({ headers: { ...record.headers }, value: record.value });
    if ('unreadable' in view) {
      const { partition, offset } = record;
      logger.error({ topic, partition, offset: String(offset), reason: view.unreadable }, 'a maker cannot be read');
      return;
    }
    if (view.type === 'ServiceView') {
      isCancelOnly = view.mode === 'CANCEL_ONLY';
      return;
    }
    const { maker, admission, limits = {}, cancelKeys = [] } = view;
    const nonce = view.nonce === null ? undefined : BigInt(view.nonce);
    known.set(maker, { admission, limits, cancelKeys, readKeys: readKeysOf(view), nonce });
  }

  const following: Following = log.followTopic({
    topic,
    from: 'beginning',
    onRecords: (_partition, records) => {
      for (const record of records) take(record);
    },
    onFatal,
  });
  const caughtUp = following.caughtUp.then(() => {
    isCaughtUp = true;
    logger.info({ makers: known.size }, 'the whitelist is read');
  });
  return {
    admissionOf: (maker) => known.get(maker)?.admission ?? 'UNKNOWN',
    limitsOf: (maker) => known.get(maker)?.limits ?? {},
    mayRead: (maker, key, what) => known.get(maker)?.readKeys[`${what}Keys`]?.includes(key) === true,
    isCancelOnly: () => isCancelOnly,
    nonceOf: (maker) => known.get(maker)?.nonce,
    cancelKeysOf: (maker) => known.get(maker)?.cancelKeys ?? [],
    isCancelKey: (address) => {
      for (const { cancelKeys } of known.values()) if (cancelKeys.includes(address)) return true;
      return false;
    },
    admittedCount: () => [...known.values()].filter(({ admission }) => admission === 'ADMITTED').length,
    isCaughtUp: () => isCaughtUp,
    caughtUp,
    silenceMs: () => performance.now() - following.lastPollAtMs(),
    stop: () => following.stop(),
  };
}
