import { paths } from '@makerbook/contracts-http/paths';
import type { Hex } from '@makerbook/contracts-primitives';
import { parseJson } from '../call-service.js';

/** A request, and the whole answer of the service. */
export interface Exchange {
  readonly method: string;
  readonly url: URL;
  readonly body: string;
  readonly status: number;
  readonly answer: string;
  /** Whether the answer says by `X-Read-Lag` that it lacks something. */
  readonly isBehind: boolean;
}

/** The orders that an answer tells of, by their state. */
export interface Lesson {
  readonly open: readonly Hex[];
  readonly ended: readonly Hex[];
  /** Orders that the service knows. It does not say whether they are open. */
  readonly known: readonly Hex[];
  /** Whether `open` has all open orders. */
  readonly isWhole: boolean;
  /** Whether the service has stored something by this request. */
  readonly isWrite: boolean;
}

export type HashOrder = (order: unknown) => Hex | undefined;

interface Item {
  readonly orderHash?: Hex;
  readonly happened?: string;
  readonly status?: string;
}

const nothing: Lesson = { open: [], ended: [], known: [], isWhole: false, isWrite: false };
const OPEN: readonly (string | undefined)[] = ['VALIDATING', 'ACTIVE', 'INACTIVE'];
/** The parameters of a signed query. With any other one, the list may be filtered. */
const SIGNED = new Set(['issuedAt', 'salt', 'signature', 'maker']);

const itemsOf = (value: unknown): readonly Item[] => (Array.isArray(value) ? value : []);
const hashesOf = (value: unknown) => itemsOf(value).flatMap(({ orderHash }) => orderHash ?? []);
const fieldsOf = (value: unknown) => (value ?? {}) as Readonly<Record<string, unknown>>;

/**
 * Reads what a bot learns from an answer that reaches it.
 * @param hashOrder hashes an order of a POST, whose body has no hashes; undefined if it is no order
 */
export function readExchange({ method, url, body, status, answer, isBehind }: Exchange, hashOrder: HashOrder): Lesson {
  const said = parseJson(answer);
  const path = url.pathname;
  if (status !== 200)
    return fieldsOf(said)['code'] === 'duplicate' ? { ...nothing, known: readPlaced(body, hashOrder) } : nothing;
  if (path === paths.replacements) {
    const { cancelled, placed } = fieldsOf(said);
    return { ...nothing, isWrite: true, ended: hashesOf(cancelled), open: hashesOf(placed) };
  }
  if (path === paths.cancelAll) {
    const { making, taking } = fieldsOf(parseJson(body));
    return { ...nothing, isWrite: true, isWhole: making === undefined && taking === undefined };
  }
  if (path === paths.cancellations || method === 'DELETE') return { ...nothing, isWrite: true, ended: hashesOf(said) };
  if (path === paths.limitOrders && method === 'POST') return { ...nothing, isWrite: true, open: hashesOf(said) };
  if (path === paths.limitOrders) {
    return {
      ...nothing,
      open: hashesOf(said),
      isWhole: !isBehind && [...url.searchParams.keys()].every((name) => SIGNED.has(name)),
    };
  }
  if (path === paths.history) return readChanges(itemsOf(fieldsOf(said)['entries']));
  const report = fieldsOf(said) as Item;
  if (method !== 'GET' || report.orderHash === undefined) return nothing;
  return { ...nothing, [OPEN.includes(report.status) ? 'open' : 'ended']: [report.orderHash] };
}

/** Reads what a bot learns from an event of the stream. */
export function readEvent(event: string, data: string): Lesson {
  const said = fieldsOf(parseJson(data));
  if (event === 'snapshot') return { ...nothing, open: hashesOf(said['orders']), isWhole: true };
  return event === 'change' ? readChanges([said as Item]) : nothing;
}

function readChanges(entries: readonly Item[]): Lesson {
  const ofKind = (kind: string) => hashesOf(entries.filter(({ happened }) => happened === kind));
  return { ...nothing, open: ofKind('OPENED'), ended: ofKind('REMOVED') };
}

/** The hashes of the orders that a POST places, alone or as a replacement. */
function readPlaced(body: string, hashOrder: HashOrder): readonly Hex[] {
  const sent = parseJson(body);
  const placements: unknown = Array.isArray(sent) ? sent : fieldsOf(sent)['place'];
  return (Array.isArray(placements) ? placements : []).flatMap(({ order }) => hashOrder(order) ?? []);
}
