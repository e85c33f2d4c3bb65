import type { IncomingMessage } from 'node:http';
import type { Refusal } from './reply.js';

/** More than browsers and the proxies behind them send; Envoy takes as many. */
const FIELDS_MAX = 100;
/** Bytes of the value of one header field, and of its name. What a field costs to read may grow faster than its bytes. */
const FIELD_BYTES_MAX = 8_192;
const NAME_CHARACTERS_MAX = 100;

/**
 * Checks the head of a request before anything reads a field of it.
 * @param hostNames the names by which the server may be asked, in lowercase; none: by any
 * @returns why it is refused
 */
export function faultOfHead(
  { httpVersion, rawHeaders, headers }: IncomingMessage,
  hostNames: readonly string[],
): Refusal | undefined {
  if (rawHeaders.length / 2 > FIELDS_MAX)
    return { code: 'payload_too_large', detail: `the request has more than ${FIELDS_MAX} header fields` };
  const large = rawHeaders.findIndex((text) => text.length > FIELD_BYTES_MAX);
  if (large >= 0) {
    const name = rawHeaders[large - (large % 2)]?.slice(0, NAME_CHARACTERS_MAX);
    return { code: 'payload_too_large', detail: `the header ${name} is larger than ${FIELD_BYTES_MAX} bytes` };
  }
  // Two proxies may each go by another one of two Hosts (RFC 9112, 3.2).
  const hosts = rawHeaders.filter((name, at) => at % 2 === 0 && name.length === 4 && name.toLowerCase() === 'host');
  if (hosts.length > 1) return { code: 'invalid_request', detail: 'the request has more than one Host' };
  if (httpVersion === '1.1' && hosts.length === 0)
    return { code: 'invalid_request', detail: 'the request has no Host' };
  // A page of another name whose address leads here could read what is for this machine alone (DNS rebinding).
  if (hostNames.length === 0 || hostNames.includes(nameOf(headers.host))) return undefined;
  const detail = `the Host is none of ${hostNames.join(', ')}: ask by one of these, or add it to HOST_NAMES`;
  return { code: 'invalid_request', detail };
}

/** Without its port. */
function nameOf(host = ''): string {
  return host.replace(/:\d*$/, '').toLowerCase();
}
