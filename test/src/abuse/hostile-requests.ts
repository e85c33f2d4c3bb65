import { ORDERS_PATH as PATH } from '../kit/make-requests.js';

/** The bytes of a hostile or defective client, and the expected answers. */
export interface HostileRow {
  /** The name of its test. */
  readonly sends: string;
  /** @param fields `Host`, and the client's address, which differ from run to run */
  readonly bytes: (fields: string) => string;
  /** Status and code of each answer in turn; `closed` if the connection is closed after them. */
  readonly answered: readonly string[];
  /** The service behind the gateway. */
  readonly service: 'ingress' | 'query';
}

const bad = '400 invalid_request';
const refused = [bad, 'closed'];
const notFound = ['404 not_found'];
const tooLarge = ['413 payload_too_large', 'closed'];

const raw = (
  sends: string,
  answered: readonly string[],
  bytes: HostileRow['bytes'],
  service: HostileRow['service'] = 'query',
): HostileRow => ({ sends, answered, bytes, service });

/** A POST with these fields and this body. */
const post = (sends: string, answered: readonly string[], fields: string, body = '[]'): HostileRow =>
  raw(
    sends,
    answered,
    (first) => `POST ${PATH} HTTP/1.1\r\n${first}Content-Type: application/json\r\n${fields}\r\n${body}`,
    'ingress',
  );

/** A POST of this JSON text. */
const json = (sends: string, answered: readonly string[], text: string) =>
  post(sends, answered, `Content-Length: ${Buffer.byteLength(text, 'latin1')}\r\n`, text);

/** A GET of this target, with these fields. */
const get = (sends: string, answered: readonly string[], target: string, fields = ''): HostileRow =>
  raw(sends, answered, (first) => `GET ${target} HTTP/1.1\r\n${first}${fields}\r\n`);

const smuggled = 'GET /smuggled HTTP/1.1\r\nHost: localhost\r\n\r\n';
const chunked = 'Transfer-Encoding: chunked\r\n';
const empty = '2\r\n[]\r\n0\r\n\r\n';

const framing: readonly HostileRow[] = [
  post(
    'CL.TE: Content-Length beside chunks, with a request behind the chunks',
    refused,
    `Content-Length: ${5 + smuggled.length}\r\n${chunked}`,
    `0\r\n\r\n${smuggled}`,
  ),
  post(
    'TE.CL: chunks beside Content-Length, with a request within a chunk',
    refused,
    `${chunked}Content-Length: 4\r\n`,
    `${smuggled.length.toString(16)}\r\n${smuggled}\r\n0\r\n\r\n`,
  ),
  post('Transfer-Encoding where chunked is not last', refused, 'Transfer-Encoding: chunked, identity\r\n', empty),
  post('Transfer-Encoding twice', refused, `${chunked}Transfer-Encoding: identity\r\n`, empty),
  post('a space before the colon of Transfer-Encoding', refused, 'Transfer-Encoding : chunked\r\n', empty),
  post('Transfer-Encoding folded over two lines (obs-fold)', refused, 'Transfer-Encoding:\r\n chunked\r\n', empty),
  post('a bare LF behind one field', refused, 'X-Any: b\nContent-Length: 2\r\n'),
  raw('bare LFs for all line ends', refused, (fields) => `GET ${PATH} HTTP/1.1\n${fields.replaceAll('\r', '')}\n`),
  post('a bare CR within a field', refused, 'X-Any: b\rContent-Length: 2\r\n'),
  post('Content-Length twice, different', refused, 'Content-Length: 2\r\nContent-Length: 3\r\n', '[] '),
  post('Content-Length as a list', refused, 'Content-Length: 2, 2\r\n'),
  post('a negative Content-Length', refused, 'Content-Length: -1\r\n'),
  post('a Content-Length of 2^64', refused, `Content-Length: ${2n ** 64n}\r\n`),
  post('a Content-Length of 2^63 - 1', tooLarge, `Content-Length: ${2n ** 63n - 1n}\r\n`),
  post('a chunk of 2^64 bytes', refused, chunked, '10000000000000002\r\n[]\r\n0\r\n\r\n'),
  post('a chunk that does not end where it says', refused, chunked, '2\r\n[]XX0\r\n\r\n'),
  post('bare LFs between chunks', refused, chunked, '2\n[]\n0\n\n'),
  post('an extension of a chunk, 20 kB', refused, chunked, `2;a=${'b'.repeat(20_000)}\r\n[]\r\n0\r\n\r\n`),
  post('a Content-Length behind the chunks (trailer)', refused, chunked, '2\r\n[]\r\n0\r\nContent-Length: 5\r\n\r\n'),
  post(
    'a request behind the body: it is a request of its own',
    [bad, ...notFound],
    'Content-Length: 2\r\n',
    `[]${smuggled}`,
  ),
];

const heads: readonly HostileRow[] = [
  post('NUL in a field', refused, 'X-Any: a\0b\r\nContent-Length: 2\r\n'),
  post('bytes above ASCII in a field', [bad], 'X-Any: \xff\xfe\r\nContent-Length: 2\r\n'),
  post('a field without a colon', refused, 'Nonsense\r\nContent-Length: 2\r\n'),
  raw('no Host', refused, () => `GET ${PATH} HTTP/1.1\r\n\r\n`),
  get('two Hosts', refused, PATH, 'Host: localhost\r\n'),
  raw('a Host with control characters', refused, () => `GET ${PATH} HTTP/1.1\r\nHost: a\x01/@?\r\n\r\n`),
  get('10,000 fields', tooLarge, PATH, Array.from({ length: 10_000 }, (_, n) => `a${n}: b\r\n`).join('')),
  get('2,000 addresses in X-Forwarded-For', tooLarge, PATH, `X-Forwarded-For: ${'1.1.1.1, '.repeat(2_000)}1.1.1.1\r\n`),
  get('X-Forwarded-For that is no address', [bad], PATH, 'X-Forwarded-For: <x>, ::::, 1.1.1.1.1\r\n'),
  get('X-Request-Id with markup: another one is given', [bad], PATH, 'X-Request-Id: a"b<script>\r\n'),
  get('Upgrade to a web socket', [bad], PATH, 'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: x\r\n'),
  get(
    'Upgrade to HTTP/2',
    [bad],
    PATH,
    'Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMA\r\n',
  ),
  get('fields that Connection names as its own', refused, PATH, 'Connection: close, X-Forwarded-For, Host\r\n'),
  post(
    'fields about one connection',
    [bad],
    'Trailer: X-A\r\nTE: trailers\r\nKeep-Alive: timeout=0\r\nContent-Length: 2\r\n',
  ),
  post('a Content-Length that Connection names', refused, 'Connection: close, Content-Length\r\nContent-Length: 2\r\n'),
  raw('a Host that is not of this machine', refused, () => `GET ${PATH} HTTP/1.1\r\nHost: evil.example\r\n\r\n`),
  get('101 fields', tooLarge, PATH, 'a: b\r\n'.repeat(99)),
  get('60 kB of codings', tooLarge, PATH, `Accept-Encoding: ${'a,'.repeat(30_000)}\r\n`),
  post('an expectation that nobody knows', [bad], 'Expect: magic\r\nContent-Length: 2\r\n'),
  raw(
    'a GET with a body: it is passed over',
    [bad],
    (fields) => `GET ${PATH} HTTP/1.1\r\n${fields}Content-Length: 2\r\n\r\n[]`,
  ),
  raw('HTTP/2 without TLS', refused, () => 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'),
  raw('the greeting of TLS', refused, () => `\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03${'\0'.repeat(100)}`),
  raw('HTTP/1.2', refused, (fields) => `GET ${PATH} HTTP/1.2\r\n${fields}\r\n`),
  raw('what is no HTTP', refused, () => 'NONSENSE\r\n\r\n'),
  raw('a method that nobody knows', refused, (fields) => `FOO ${PATH} HTTP/1.1\r\n${fields}\r\n`),
  raw('TRACE', ['405 method_not_allowed'], (fields) => `TRACE ${PATH} HTTP/1.1\r\n${fields}\r\n`, 'ingress'),
  raw('CONNECT', ['405 method_not_allowed', 'closed'], (fields) => `CONNECT a.test:80 HTTP/1.1\r\n${fields}\r\n`),
];

const targets: readonly HostileRow[] = [
  get('a target with an origin (absolute-form): as without it', [bad], `http://other.test${PATH}`),
  get('a target with an origin and a user', [bad], `http://user:word@other.test:1${PATH}?a=//b`),
  get('a target of an origin alone: the root, which leads to the page', ['302'], 'http://other.test'),
  get('a target of a host and a port', refused, 'other.test:80'),
  get('a target of an asterisk', notFound, '*'),
  get('a target of two slashes and a host', notFound, `//other.test${PATH}`),
  get('`..` in the path: it is compared as it is', notFound, `/v0/..${PATH}`),
  get('`..` in percent code', notFound, `/v0/%2e%2e${PATH}`),
  get('`..` to the metrics', notFound, '/v0alpha/../metrics'),
  get('a letter in percent code', notFound, '/v0alpha/limit%2dorders'),
  get('broken percent code', notFound, '/v0alpha/%zz%'),
  get('a backslash', notFound, '/v0alpha\\limit-orders'),
  get('parameters of the path', notFound, `${PATH};a=b`),
  get('NUL in the path', refused, `${PATH}\0`),
];

const queries: readonly HostileRow[] = [
  get('two question marks: the second belongs to a name', [bad], `${PATH}??issuedAt=1`),
  get('parameters as arrays and objects', [bad], `${PATH}?issuedAt[]=1&salt[a]=0x1&signature[__proto__]=0x`),
  get('parameters of invalid UTF-8', [bad], `${PATH}?issuedAt=%ff&salt=%c0%af&signature=%f0%28%8c%28`),
  get('parameters named __proto__ and constructor', [bad], `${PATH}?__proto__=1&constructor=1&__proto__[issuedAt]=1`),
  get('9,000 parameters', [bad], `${PATH}?${'a&'.repeat(7_000)}`),
  get('a number beyond 2^256', [bad], `${PATH}?issuedAt=${'9'.repeat(300)}&salt=0x1&signature=0x`),
];

const deep = (depth: number) => '['.repeat(depth) + ']'.repeat(depth);
const bodies: readonly HostileRow[] = [
  json('nesting of 9 levels', [bad], deep(9)),
  json('an object of 10,000 members', [bad], `[{${Array.from({ length: 10_000 }, (_, n) => `"k${n}":1`).join()}}]`),
  json('bytes that are not UTF-8', [bad], '["\xff\xfe"]'),
  json('NUL behind the JSON', [bad], '[]\0'),
  json(
    'keys __proto__, constructor and prototype',
    [bad],
    '[{"__proto__":{"a":1},"constructor":{"prototype":{"a":1}},"order":{"__proto__":[]}}]',
  ),
  json('a text of 200 kB for a field', [bad], `[{"order":{"salt":"0x${'f'.repeat(200_000)}"},"signature":"0x"}]`),
];

/** Everything that a hostile client can send at once, and the expected answers. */
export const hostileRows: readonly HostileRow[] = [...framing, ...heads, ...targets, ...queries, ...bodies];
