import {
  cancelAllRequestTypes,
  cancelKeysRequestTypes,
  fillCapRequestTypes,
  heartbeatRequestTypes,
  keysRequestTypes,
  receiptTypes,
  type TypedField,
  typedDataDomain,
} from '@makerbook/contracts-evm/typed-data';
import { type Hex, readAddress, readArray, readFields, ZERO_ADDRESS } from '@makerbook/contracts-primitives';
import { TypedDataEncoder, verifyTypedData } from 'ethers';
import { type Answer, parseJson } from './call-service.js';
import { type DomainOptions, readDomain } from './sign-requests.js';

/** The service's signed proof of what it has stored, and where in its log. Keep it. */
export interface Receipt {
  /** Hashes of the orders that were placed. */
  readonly placed: readonly Hex[];
  /** Hashes of the orders that were cancelled. */
  readonly cancelled: readonly Hex[];
  /** The digest of the CancelAllRequest, HeartbeatRequest, CancelKeysRequest, KeysRequest or FillCapRequest. */
  readonly messages: readonly Hex[];
  /** `<partition>:<offset>`, one for each partition, as `X-Log-Position` has it. */
  readonly position: string;
  readonly signature: Hex;
}

/**
 * Tells whether one of these keys has signed the receipt. Asks no service.
 * @param signers `receiptSigners` of `/info`, as they were when the receipt came
 * @throws WrongValue if the domain or the signers make no sense
 */
export function verifyReceipt(receipt: Receipt, domain: DomainOptions, signers: readonly string[]): boolean {
  const { signature, ...message } = readFields('receipt', receipt);
  const signed = signedDomain(domain);
  const trusted = readArray('signers', signers).map((address, index) => readAddress(`signers[${index}]`, address));
  try {
    return trusted.includes(verifyTypedData(signed, receiptTypes, message, signature).toLowerCase() as Hex);
  } catch {
    return false;
  }
}

/** The receipt of an answer: what its body says was stored, and its signature. Undefined if the answer has none. */
export function readReceipt(
  { text, headers }: Pick<Answer, 'text' | 'headers'>,
  domain: DomainOptions,
): Receipt | undefined {
  const [signature, position] = [headers.get('x-receipt'), headers.get('x-log-position')];
  if (signature === null || position === null) return undefined;
  const body = (parseJson(text) ?? {}) as AnswerBody;
  const items = Array.isArray(body) ? body : [body.cancelled ?? [], body.placed ?? []].flat();
  const hashesOf = (wanted: string) => items.flatMap(({ status, orderHash }) => (status === wanted ? orderHash : []));
  return {
    placed: hashesOf('VALIDATING'),
    cancelled: hashesOf('CANCELLED'),
    messages: Array.isArray(body) ? [] : digestsOf(body, domain),
    position,
    signature: signature as Hex,
  };
}

type Item = { readonly orderHash: Hex; readonly status: string };
type AnswerBody = Item[] | { readonly cancelled?: readonly Item[]; readonly placed?: readonly Item[] };

/** The digest of the message that an answer repeats, if it is an answer to one. */
function digestsOf(told: object, domain: DomainOptions): Hex[] {
  const digestOf = (types: Record<string, TypedField[]>, message: object) =>
    TypedDataEncoder.hash(signedDomain(domain), types, message) as Hex;
  if ('untilMs' in told) {
    return [digestOf(cancelAllRequestTypes, { making: ZERO_ADDRESS, taking: ZERO_ADDRESS, ...told })];
  }
  if ('cancelAt' in told) return [digestOf(heartbeatRequestTypes, told)];
  if ('windowSeconds' in told) return [digestOf(fillCapRequestTypes, told)];
  if ('listKeys' in told) return [digestOf(keysRequestTypes, told)];
  return 'keys' in told ? [digestOf(cancelKeysRequestTypes, told)] : [];
}

const signedDomain = (domain: DomainOptions) => typedDataDomain(readDomain(domain));
