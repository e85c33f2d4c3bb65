import express, { type NextFunction, type Request, type RequestHandler, type Response } from 'express';
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

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** Reads a JSON body: 415 for another content type, 413 above the limit, 400 for what is not JSON in UTF-8. */
export function readJson(bytesMax: number): RequestHandler[] {
  const readBytes = express.raw({ type: () => true, limit: bytesMax });
  return [
    requireJson,
    (request, response, next) =>
      readBytes(request, response, (error?: unknown) =>
        error === undefined ? next() : next(new Refused(refusalOf(error, bytesMax))),
      ),
    parse,
  ];
}

function requireJson(request: Request, _response: Response, next: NextFunction): void {
  const [type = ''] = (request.headers['content-type'] ?? '').split(';', 1);
  if (type.trim().toLowerCase() === 'application/json') return next();
  request.resume();
  next(new Refused({ code: 'unsupported_media_type', detail: 'the Content-Type must be application/json' }));
}

function parse(request: Request, _response: Response, next: NextFunction): void {
  const bytes: unknown = request.body;
  try {
    request.body = JSON.parse(Buffer.isBuffer(bytes) ? utf8.decode(bytes) : '');
  } catch (error) {
    const reason = error instanceof SyntaxError ? 'the body is not JSON' : 'the body is not UTF-8';
    return next(new Refused({ code: 'invalid_request', detail: reason }));
  }
  next();
}

function refusalOf(error: unknown, bytesMax: number): Refusal {
  const { type } = error as { type?: string };
  switch (type) {
    case 'entity.too.large':
      return { code: 'payload_too_large', detail: `the body is larger than ${bytesMax} bytes` };
    case 'encoding.unsupported':
      return { code: 'unsupported_media_type', detail: 'the Content-Encoding is not supported' };
    default:
      return { code: 'invalid_request', detail: 'the body did not arrive whole' };
  }
}
