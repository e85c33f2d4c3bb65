import type { IncomingMessage } from 'node:http';
import type { NextFunction, Request, RequestHandler, Response } from 'express';
import getRawBody from 'raw-body';
import type { Refusal } from './reply.js';

/** No body of the interface comes near any of these: an order of a POST nests four levels, and has seven members. */
const bounds: JsonBounds = { depthMax: 8, membersMax: 32, valuesMax: 10_000 };
const utf8 = new TextDecoder('utf-8', { fatal: true });

const QUOTE = '"'.charCodeAt(0);
const BACKSLASH = '\\'.charCodeAt(0);
const COLON = ':'.charCodeAt(0);
const COMMA = ','.charCodeAt(0);
const OPEN_ARRAY = '['.charCodeAt(0);
const CLOSE_ARRAY = ']'.charCodeAt(0);
const OPEN_OBJECT = '{'.charCodeAt(0);
const CLOSE_OBJECT = '}'.charCodeAt(0);

/** Carries a refusal to the place that answers errors. */
export class Refused extends Error {
  override readonly name = 'Refused';
  readonly refusal: Refusal;
  constructor(refusal: Refusal) {
    super(refusal.detail);
    this.refusal = refusal;
  }
}

/**
 * Reads the whole body of a request. Stops reading a refused body: `send` closes its connection.
 * @throws Refused: 415 for a packed body, 413 above the limit, 400 for one that does not arrive whole
 */
export async function readBody(request: IncomingMessage, bytesMax: number): Promise<Buffer> {
  const encoding = request.headers['content-encoding']?.trim().toLowerCase() ?? 'identity';
  if (encoding !== 'identity' && encoding !== '') {
    throw new Refused({
      code: 'unsupported_media_type',
      detail: 'the body must not be compressed: leave out Content-Encoding',
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

/**
 * Reads a JSON body. Refuses with 415 another content type or a packed body, with 413 a body above the limit, and with
 * 400 one that is not JSON in UTF-8 or is nested deeper or wider than any request needs.
 */
export function readJson(bytesMax: number): RequestHandler {
  // Express passes on what this handler throws.
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

/** The bounds of a JSON text. */
export interface JsonBounds {
  /** Levels of nested arrays and objects. */
  readonly depthMax: number;
  /** Members of one object. */
  readonly membersMax: number;
  /** Values in all. */
  readonly valuesMax: number;
}

/**
 * Checks a JSON text before it is parsed. Deep nesting and objects of many members cost much more than their bytes, in
 * the parser and in the report of what is wrong. The check is linear in the bytes, and what it allocates does not
 * depend on them.
 * @returns the bound that the text exceeds, as a sentence; undefined if it exceeds none or is not JSON (the parser
 * reports that)
 */
export function findExcess(bytes: Buffer, { depthMax, membersMax, valuesMax }: JsonBounds): string | undefined {
  const members = new Uint32Array(depthMax + 1);
  let depth = 0;
  let values = 1;
  for (let at = 0; at < bytes.length; at += 1) {
    switch (bytes[at]) {
      case QUOTE:
        at = endOfString(bytes, at);
        if (at < 0) return undefined;
        break;
      case OPEN_ARRAY:
      case OPEN_OBJECT:
        depth += 1;
        values += 1;
        if (depth > depthMax) return `the body is nested deeper than ${depthMax} levels`;
        members[depth] = 0;
        break;
      case CLOSE_ARRAY:
      case CLOSE_OBJECT:
        if (depth === 0) return undefined;
        depth -= 1;
        break;
      case COLON:
        members[depth] = (members[depth] ?? 0) + 1;
        if ((members[depth] ?? 0) > membersMax) return `an object of the body has more than ${membersMax} members`;
        break;
      case COMMA:
        values += 1;
    }
    if (values > valuesMax) return `the body holds more than ${valuesMax} values`;
  }
  return undefined;
}

/** The end of the string that begins at `start`; -1 if it has none. */
function endOfString(bytes: Buffer, start: number): number {
  for (let end = bytes.indexOf(QUOTE, start + 1); end >= 0; end = bytes.indexOf(QUOTE, end + 1)) {
    let first = end;
    while (bytes[first - 1] === BACKSLASH) first -= 1;
    if ((end - first) % 2 === 0) return end;
  }
  return -1;
}
