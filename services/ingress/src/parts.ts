import type { AskCode, AskWallets } from '@makerbook/chain';
import type { OrderHasher, RequestHashers } from '@makerbook/contracts-evm';
import type { Appender, Log, VerifiedTopics } from '@makerbook/kafka';
import type { Logger } from '@makerbook/telemetry';
import type { Makers } from '@makerbook/whitelist';
import type { RouterAcks } from './acknowledge/follow-acks.js';
import type { Projection } from './acknowledge/follow-projection.js';
import type { SignReceipt } from './acknowledge/sign-receipts.js';
import type { UnplacedBound } from './decide/bound-unplaced.js';
import type { Decide } from './decide/decide-together.js';
import type { FindHashes } from './decide/find-hashes.js';
import type { TrustKeeper } from './decide/keep-trust.js';
import type { UnknownNotes } from './decide/note-unknown.js';
import type { IngressSettings } from './env.js';
import type { IngressMetrics } from './metrics.js';
import type { ReadSalts } from './parse/read-salts.js';
import type { Store } from './store/store.js';

/** The outside parts that are needed to answer requests. */
export interface Outside {
  readonly settings: IngressSettings;
  readonly logger: Logger;
  readonly log: Pick<Log, 'createAppender'>;
  readonly topics: Pick<VerifiedTopics, 'areVerified'>;
  readonly makers: Makers;
  readonly store: Store;
  readonly projection: Projection;
  readonly trust: TrustKeeper;
  /** Undefined if no router is registered. */
  readonly acks?: RouterAcks | undefined;
  /** Undefined if contracts cannot sign. */
  readonly askWallets?: AskWallets | undefined;
  /** Undefined if there is no node. */
  readonly askCode?: AskCode | undefined;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** The clock for the times at which requests are received. It never goes back. */
  readonly monotonicMs: () => number;
  readonly pause: (ms: number) => Promise<void>;
}

/** The parts that answer requests. */
export interface Parts extends Outside {
  readonly metrics: IngressMetrics;
  readonly appender: Appender;
  readonly decide: Decide;
  readonly findHashes: FindHashes;
  /** Resolves when the next slice of signatures may be verified. */
  readonly nextSlice: () => Promise<void>;
  readonly notes: UnknownNotes;
  readonly unplaced: UnplacedBound;
  /** How many requests wait for the feed or for routers now. */
  readonly waits: { underWay: number };
  readonly hashOrder: OrderHasher['hashOrder'];
  readonly hashCancellation: RequestHashers['hashCancellation'];
  readonly readSalts: ReadSalts;
  /** Undefined if the service gives no receipts. */
  readonly signReceipt: SignReceipt | undefined;
}
