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
 * big-endian; `producerId` where the form is not the legacy one). Segments come in any order and repeatedly. They
 * belong together by partition, key and producer.
 */
export class SegmentJoiner {
  readonly #messages = new Map<string, Message>();
  readonly #incompleteMax: number;

  /** @param incompleteMax bound on messages of which segments are missing; the oldest is given up first */
  constructor(incompleteMax = 256) {
    this.#incompleteMax = incompleteMax;
  }

  /** The whole message when this was the segment that was missing; undefined before; or what is wrong with it. */
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
    // Another cut or other bytes are another message of the same name, as from a node that was restarted with other
    // settings or another release: it begins anew, so that the two are not mixed.
    if (message === undefined || message.segments.length !== total || held?.equals(value) === false) {
      message = { segments: new Array<Buffer | undefined>(total).fill(undefined), missing: total };
      messages.delete(name);
      messages.set(name, message);
      const [oldest] = messages.keys();
      if (messages.size > incompleteMax && oldest !== undefined) messages.delete(oldest);
    }
    if (message.segments[index] === undefined) message.missing -= 1;
    // A copy: the value is a part of all that was fetched with it, which would be held for its sake.
    message.segments[index] = Buffer.from(value);
    if (message.missing > 0) return undefined;
    messages.delete(name);
    return Buffer.concat(message.segments.filter((segment) => segment !== undefined));
  }
}

/** An 8-byte big-endian unsigned number out of a header; undefined where it is none, or beyond any use. */
function readCount(header: string | undefined): number | undefined {
  if (header === undefined || header.length !== 8) return undefined;
  const count = Buffer.from(header, 'latin1').readBigUInt64BE();
  return count > BigInt(SEGMENTS_MAX) ? undefined : Number(count);
}
