const OFFSET_DIGITS = 20;
const SECONDS_DIGITS = 16;

/** A record with what it is sorted and hidden by in front: so that it need not be parsed to be served. */
export function encodeListEntry(order: {
  readonly acceptedOffset: bigint;
  readonly expiresAtSeconds: number;
  readonly json: string;
}): string {
  const offset = String(order.acceptedOffset).padStart(OFFSET_DIGITS, '0');
  return `${offset}${String(order.expiresAtSeconds).padStart(SECONDS_DIGITS, '0')}${order.json}`;
}
