const SEGMENTS_MAX = 100_000;
/** A record of a chaindatafetcher topic: headers as latin1 text, one character for each byte. */
export interface SegmentRecord {
  readonly partition: number;
  readonly key: string;
  readonly value: Buffer | null;
  readonly headers: Readonly<Record<string, string>>;
}

interface Message {
  readonly segments: (Buffer | undefined)[];
  missing: number;
}

/**
 * Joins the messages that Kaia's chaindatafetcher cuts into segments (headers `totalSegments` and `segmentIdx`, 8-byte
 * big-endian; `producerId` unless in the legacy form). Segments come in any order and repeatedly. Partition, key and
 * producer tell which segments belong together.
 */
export class SegmentJoiner {
  readonly #messages = new Map<string, Message>();
  readonly #incompleteMax: number;

  /** @param incompleteMax how many incomplete messages are kept at most; the oldest is dropped first */
  constructor(incompleteMax = 256) {
    this.#incompleteMax = incompleteMax;
  }

  /** Returns the whole message if this segment completes it, undefined if not, or why the record is unreadable. */
  add({ partition, key, value, headers }: SegmentRecord): Buffer | { readonly unreadable: string } | undefined {
    const messages = this.#messages;
    const incompleteMax = this.#incompleteMax;
    const total = readCount(headers['totalSegments']);
    const index = readCount(headers['segmentIdx']);
    if (total === undefined || index === undefined || total < 1 || total > SEGMENTS_MAX || index >= total) {
      return { unreadable: `block ${key}: its headers name no segment: ${JSON.stringify(headers).slice(0, 200)}` };
    }
    if (value === null) return { unreadable: `block ${key}: segment ${index} has no value` };
    if (total === 1) return value;
    const name = `${partition}:${key}:${headers['producerId'] ?? ''}`;
    let message = messages.get(name);
    const held = message?.segments[index];
    // A different cut or different bytes mean another message under the same name, such as from a node restarted with
    // other settings or another release. Start over, so that the two are not mixed.
    if (message === undefined || message.segments.length !== total || held?.equals(value) === false) {
      message = { segments: new Array<Buffer | undefined>(total).fill(undefined), missing: total };
      messages.delete(name);
      messages.set(name, message);
      const [oldest] = messages.keys();
      if (messages.size > incompleteMax && oldest !== undefined) messages.delete(oldest);
    }
    if (message.segments[index] === undefined) message.missing -= 1;
    // Copy the value. It is a slice of the whole fetch, and keeping it would keep the fetch in memory.
    message.segments[index] = Buffer.from(value);
    if (message.missing > 0) return undefined;
    messages.delete(name);
    return Buffer.concat(message.segments.filter((segment) => segment !== undefined));
  }
}

/** Reads an 8-byte big-endian unsigned number from a header; undefined if it is not one, or is too large. */
function readCount(header: string | undefined): number | undefined {
  if (header === undefined || header.length !== 8) return undefined;
  const count = Buffer.from(header, 'latin1').readBigUInt64BE();
  return count > BigInt(SEGMENTS_MAX) ? undefined : Number(count);
}
