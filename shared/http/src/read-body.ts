import type { IncomingMessage } from 'node:http';
import getRawBody from 'raw-body';
import type { Refusal } from './reply.js';

/** A refusal on its way to the place that answers errors. */
export class Refused extends Error {
  override readonly name = 'Refused';
  readonly refusal: Refusal;
  constructor(refusal: Refusal) {
    super(refusal.detail);
    this.refusal = refusal;
  }
}

/**
 * Reads the whole body of a request. What is refused is not read on: `send` closes its connection.
 * @throws Refused: 415 for a packed body, 413 above the limit, 400 for one that does not arrive whole
 */
export async function readBody(request: IncomingMessage, bytesMax: number): Promise<Buffer> {
  const encoding = request.headers['content-encoding']?.trim().toLowerCase() ?? 'identity';
  if (encoding !== 'identity' && encoding !== '') {
    throw new Refused({
      code: 'unsupported_media_type',
      detail: 'the body must not be packed: leave out Content-Encoding',
    });
  }
  try {
    return await getRawBody(request, { limit: bytesMax, length: request.headers['content-length'] ?? null });
  } catch (error) {
    const isTooLarge = (error as { type?: string }).type === 'entity.too.large';
    throw new Refused(
      isTooLarge
        ? { code: 'payload_too_large', detail: `the body is larger than ${bytesMax} bytes` }
        : { code: 'invalid_request', detail: 'the body did not arrive whole' },
    );
  }
}

/** True if a request has a body. */
export function hasBody({ headers }: Pick<IncomingMessage, 'headers'>): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}
