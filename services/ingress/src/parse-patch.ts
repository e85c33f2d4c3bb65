import { quotePatchInput } from '@makerbook/contracts-http';
import { type Refusal, refuseFields } from '@makerbook/http';

/** What a PATCH asks for. `data` is any text: whether it is a swap call is checked later. */
export interface AskedPatch {
  readonly data: string;
  /** The new minimum in the token's smallest unit; undefined when the request names none. */
  readonly minOutput: bigint | undefined;
}

/** Parses the body of PATCH /v0/quote/data (Interface 4.1). An unknown field is refused: its change would not be made. */
export function parsePatch(body: unknown): AskedPatch | Refusal {
  const parsed = quotePatchInput.safeParse(body);
  if (!parsed.success) return refuseFields(parsed.error.issues);
  const { data, minOutput } = parsed.data;
  return { data, minOutput: minOutput === undefined ? undefined : BigInt(minOutput.amount) };
}
