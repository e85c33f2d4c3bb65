import type { NextFunction, Request, RequestHandler, Response } from 'express';
import { findExcess, type JsonBounds } from './bound-json.js';
import { Refused, readBody } from './read-body.js';

/** No body of the interface comes near any of these: an order of a POST nests four levels, and has seven members. */
const bounds: JsonBounds = { depthMax: 8, membersMax: 32, valuesMax: 10_000 };

const utf8 = new TextDecoder('utf-8', { fatal: true });

/**
 * Reads a JSON body: 415 for another content type or a packed body, 413 above the limit, 400 for what is not JSON in
 * UTF-8, or is nested deeper or wider than any request has reason to be.
 */
export function readJson(bytesMax: number): RequestHandler {
  // Express hands on what it throws.
  return async (request: Request, _response: Response, next: NextFunction) => {
    const [type = ''] = (request.headers['content-type'] ?? '').split(';', 1);
    if (type.trim().toLowerCase() !== 'application/json') {
      throw new Refused({ code: 'unsupported_media_type', detail: 'the Content-Type must be application/json' });
    }
    request.body = parse(await readBody(request, bytesMax));
    next();
  };
}

function parse(bytes: Buffer): unknown {
  const excess = findExcess(bytes, bounds);
  if (excess !== undefined) throw new Refused({ code: 'invalid_request', detail: excess });
  try {
    return JSON.parse(utf8.decode(bytes));
  } catch (error) {
    const detail = error instanceof SyntaxError ? 'the body is not JSON' : 'the body is not UTF-8';
    throw new Refused({ code: 'invalid_request', detail });
  }
}
