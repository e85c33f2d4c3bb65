import type { IncomingMessage } from 'node:http';
import type { NextFunction, Request, RequestHandler, Response } from 'express';
import { ipKeyGenerator, MemoryStore, rateLimit } from 'express-rate-limit';
import type { RequestNotes } from './observe-requests.js';
import type { Refusal } from './reply.js';

/** The budget of one client address within a window; counted in this process. */
export interface ClientLimit {
  /** A request costs one unit, one more for each `BYTES_PER_UNIT` of head and body, and what its route charges. */
  readonly units: number;
  readonly windowSeconds: number;
}

/** A signed order has 500 bytes and more, a signed cancellation 200: bytes are a measure of signatures too. */
const BYTES_PER_UNIT = 8_192;

/**
 * Charges each request to its client's address, refusals included, before its body is read. A body of unknown length
 * costs as much as the largest one. The headers are those of the IETF draft (draft 8).
 * @param name the limit's name in the headers
 */
export function limitClients(
  { units, windowSeconds }: ClientLimit,
  name: string,
  bodyBytesMax: number,
  refuse: (request: Request, response: Response, refusal: Refusal) => void,
): RequestHandler[] {
  const store = new MemoryStore();
  async function chargeBytes(request: Request, response: Response, next: NextFunction): Promise<void> {
    const charge: RequestNotes['charge'] = async (more) => {
      for (let left = more; left > 0; left -= 1) await store.increment(addressOf(request));
    };
    (response.locals as RequestNotes).charge = charge;
    await charge(unitsOf(request, bodyBytesMax) - 1);
    next();
  }
  return [
    chargeBytes,
    rateLimit({
      windowMs: windowSeconds * 1000,
      limit: units,
      standardHeaders: 'draft-8',
      legacyHeaders: false,
      identifier: name,
      store,
      keyGenerator: addressOf,
      handler: (request, response) =>
        refuse(request, response, {
          code: 'rate_limited',
          detail: 'too many requests from this address, or too large ones; Retry-After says when',
        }),
    }),
  ];
}

/** The client's address; for IPv6, its network. */
export function addressOf(request: Request): string {
  return ipKeyGenerator(request.ip ?? '');
}

/** The cost of a request, in units of its limit. */
export function unitsOf({ headers, rawHeaders, url = '' }: IncomingMessage, bodyBytesMax: number): number {
  const headLength = rawHeaders.reduce((length, text) => length + text.length, url.length);
  const declared = headers['transfer-encoding'] === undefined ? Number(headers['content-length'] ?? 0) : bodyBytesMax;
  return 1 + Math.floor((headLength + Math.min(declared, bodyBytesMax)) / BYTES_PER_UNIT);
}
