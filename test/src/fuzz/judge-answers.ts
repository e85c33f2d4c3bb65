import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { deployArtifacts, hexToBytes } from '@makerbook/contracts-evm';
import { problemKinds } from '@makerbook/contracts-http';
import type { Hex } from '@makerbook/contracts-primitives';
import { Interface, recoverAddress, Signature } from 'ethers';
import type { Asked, OrderTerms, RequestMaker } from '../kit/make-requests.js';
import type { Exchange, RawAnswer } from '../kit/raw-http.js';
import type { WireRequest } from './mutate-requests.js';

/** An operation that is fuzzed, with the codes that it may answer. */
export interface FuzzedOperation {
  readonly name: string;
  readonly codes: ReadonlySet<string>;
  /** Tells what is wrong with a 200; undefined if nothing is. */
  readonly judge: (request: WireRequest, body: string) => string | undefined;
}

/** The answer in a word for the report, and what is wrong with it. */
export interface Verdict {
  readonly outcome: string;
  readonly fault: string | undefined;
}

/** A whole request of an operation has one answer: a right 200, or a problem with a code of that operation. */
export function judgeExchange(
  request: WireRequest,
  { answers, rest, end }: Exchange,
  operation: FuzzedOperation,
): Verdict {
  const fault = (text: string): Verdict => ({ outcome: 'fault', fault: text });
  if (end === 'timeout') return fault('no answer in time');
  // If the head of a HEAD request cannot be read, the answer has a body.
  if (rest.length > 0 && request.asked.method !== 'HEAD')
    return fault(`what is no answer: ${rest.toString('latin1', 0, 200)}`);
  const [answer] = answers;
  if (request.isFramed && (answer === undefined || answers.length > 1)) return fault(`${answers.length} answers`);
  const isOwn = request.isFramed && request.isOfOperation;
  for (const each of answers) {
    const wrong = faultOfAnswer(each, request, isOwn ? operation : undefined);
    if (wrong !== undefined) return fault(wrong);
  }
  return { outcome: answer === undefined ? 'closed' : outcomeOf(answer), fault: undefined };
}

function unpack(body: Buffer, encoding: string | undefined): Buffer {
  if (encoding === 'gzip') return gunzipSync(body);
  return encoding === 'br' ? brotliDecompressSync(body) : body;
}

function outcomeOf({ status, body }: RawAnswer): string {
  if (status < 400 || body.length === 0) return String(status);
  return (JSON.parse(body.toString()) as { code: string }).code;
}

function faultOfAnswer(
  { status, headers, body }: RawAnswer,
  request: WireRequest,
  operation: FuzzedOperation | undefined,
): string | undefined {
  if (headers.get('x-request-id') === undefined) return 'there is no X-Request-Id';
  if (request.asked.method === 'HEAD') return status >= 500 && status !== 503 ? `status ${status}` : undefined;
  const text = unpack(body, headers.get('content-encoding')).toString();
  if (status === 200) return operation?.judge(request, text);
  if (status === 302) return headers.get('location') === '/docs' ? undefined : '302';
  if (status === 204 || status === 304) return operation !== undefined && status === 204 ? '204' : undefined;
  if (headers.get('content-type') !== 'application/problem+json; charset=utf-8')
    return `${status} is no problem document: ${text.slice(0, 200)}`;
  const problem = JSON.parse(text) as { code: keyof typeof problemKinds; status: number; requestId: string };
  const said = `${status} ${text.slice(0, 300)}`;
  if (problemKinds[problem.code]?.status !== status || problem.status !== status) return `not its status: ${said}`;
  if (problem.requestId !== headers.get('x-request-id')) return `not its request id: ${said}`;
  if (problem.code === 'internal') return said;
  const isKnown = operation?.codes.has(problem.code) ?? true;
  return isKnown ? undefined : `not a code of ${operation?.name}: ${said}`;
}

/** Expects a record for each order sent, each signed by a maker on the whitelist. */
export function judgePlaced({ sign }: RequestMaker, makers: ReadonlySet<string>) {
  return ({ asked }: WireRequest, body: string): string | undefined => {
    const sent = parseBody(asked) as { order: OrderTerms; signature: string }[];
    const records = JSON.parse(body) as { orderHash: string; status: string; signature: string }[];
    if (records.length !== sent.length) return `${records.length} records for ${sent.length} orders`;
    for (const [index, { order, signature }] of sent.entries()) {
      const record = records[index];
      const orderHash = sign.hashOrder(order);
      const maker = recoverAddress(orderHash, Signature.from(withV(signature))).toLowerCase();
      if (maker !== order.maker.toLowerCase()) return `order ${index} is signed by ${maker}`;
      if (!makers.has(maker)) return `${maker} is not on the whitelist`;
      if (record?.orderHash !== orderHash || record.status !== 'VALIDATING') return `record ${index} is not its own`;
    }
    return undefined;
  };
}

/** Expects an item for each hash, in order. Only an order that was placed can be cancelled. */
export function judgeCancelled(wasPlaced: (orderHash: string) => boolean) {
  return ({ asked }: WireRequest, body: string): string | undefined => {
    const items = JSON.parse(body) as { orderHash: string; status: string }[];
    const hashes = hashesOf(asked).map((hash) => hash.toLowerCase());
    if (items.map(({ orderHash }) => orderHash).join() !== hashes.join())
      return `not the hashes of the request: ${body}`;
    const strange = items.find(({ orderHash, status }) =>
      status === 'CANCELLED' ? !wasPlaced(orderHash) : status !== 'NOT_FOUND',
    );
    return strange === undefined ? undefined : `${strange.orderHash} is ${strange.status}`;
  };
}

const navigator = new Interface(deployArtifacts.Navigator.abi);
/** A call ends with 65 bytes of signature, and their padding. */
const SIGNATURE_FROM_END = 96;
const SIGNATURE_BYTES = 65;

/** Expects that only minimum and signature changed. Ethers judges what both say. */
export function judgePatched({ asked }: WireRequest, patched: string): string | undefined {
  const { data, minOutput } = parseBody(asked) as { data: Hex; minOutput: { amount: string } };
  const [before, after] = [hexToBytes(data), hexToBytes(patched as Hex)];
  if (before.length !== after.length) return 'the length changed';
  const signatureAt = before.length - SIGNATURE_FROM_END;
  const mayChange = (at: number) =>
    (at >= signatureAt - 64 && at < signatureAt - 32) || (at >= signatureAt && at < signatureAt + SIGNATURE_BYTES);
  const wrongAt = before.findIndex((byte, at) => byte !== after[at] && !mayChange(at));
  if (wrongAt !== -1) return `byte ${wrongAt} changed`;
  const minimum = navigator.parseTransaction({ data: patched })?.args[2] as readonly bigint[] | undefined;
  return minimum?.length === 1 && minimum[0] === BigInt(minOutput.amount) ? undefined : `the minimum is ${minimum}`;
}

function hashesOf(asked: Asked): string[] {
  if (asked.method === 'POST') return (parseBody(asked) as { orderHash: string }[]).map(({ orderHash }) => orderHash);
  return queryOf(asked).get('orderHashes')?.split(',') ?? [];
}

function queryOf({ target }: Asked): URLSearchParams {
  return new URLSearchParams(target.slice(target.indexOf('?')));
}

/** Skips a byte order mark, as the service does. */
function parseBody({ body }: Asked): unknown {
  return JSON.parse(String(body).replace(/^\ufeff/, ''));
}

/** Ethers accepts v only as 27 or 28. */
function withV(signature: string): string {
  if (signature.length !== 132) return signature;
  const v = Number.parseInt(signature.slice(-2), 16);
  return v < 2 ? `${signature.slice(0, -2)}${(v + 27).toString(16)}` : signature;
}
