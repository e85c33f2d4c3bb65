/** A value of a JSON text. */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/** Values that differ from what a field expects in type, size or form. */
export const ODD_VALUES: readonly [Json, ...Json[]] = [
  null,
  0,
  -1,
  2 ** 53,
  '',
  '0x',
  '0x0',
  '0X1f',
  `0x${'f'.repeat(64)}`,
  `0x1${'0'.repeat(64)}`,
  `0x${'11'.repeat(20)}`,
  `0x${'ff'.repeat(65)}`,
  String(2n ** 256n),
  // Times in seconds and milliseconds, near now and far away.
  1_800_000_000,
  1_800_000_000_000,
  '1800000000',
  '1800000000000',
  2 ** 31,
  31_536_000_000,
  0.001,
  '9'.repeat(400),
  '\u0000',
  '\ud800',
  [],
  {},
  [[]],
  { amount: '0x1' },
  { __proto__: null, toString: 1, constructor: { prototype: 1 } },
];
export const ODD_KEYS = ['__proto__', 'constructor', '', '0', 'a/b~c', 'SALT', 'order ', 'ключ', '\u0000'] as const;
export const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS', 'TRACE', 'SEARCH'] as const;
const OF_TWELVE_PARTITIONS = '-,'.repeat(11);
/**
 * Cursors of makers' histories and streams and of the book: of another log, partition or form, ahead, or no cursors.
 */
export const CURSORS = [
  '',
  '0',
  '0:0',
  '-1:1',
  '0:-:0',
  '7:-:9',
  '3:0123abcd:5',
  '11:0123abcd:999999999999999',
  `5:0123abcd:5:0x${'1'.repeat(64)}:0:-1:-1`,
  `${OF_TWELVE_PARTITIONS}-:-`,
  `${OF_TWELVE_PARTITIONS}-:0123abcd`,
  `${OF_TWELVE_PARTITIONS}999999999999999:0:-`,
  '1:0:-',
  'x.0:5',
  '9'.repeat(300),
  '\u0000',
] as const;
type Field = readonly [name: string, value: string];
/** Repeats the part until the field has the largest size that is accepted. */
const fill = (part: string) => part.repeat(8_192 / part.length);
export const ODD_FIELDS: readonly [Field, ...Field[]] = [
  ['Content-Type', 'text/plain'],
  ['Content-Type', 'application/json; charset=utf-16'],
  ['Content-Type', 'application/json;;;'],
  ['Content-Encoding', 'identity'],
  ['Accept-Encoding', 'gzip, br;q=1, *;q=0'],
  ['If-None-Match', '*, "x", W/"y'],
  ['Range', 'bytes=0-1,5-2'],
  ['Expect', '100-continue'],
  ['X-Request-Id', '"<\x7f>'],
  ['X-Request-Id', 'x'.repeat(129)],
  ['X-Forwarded-For', '::ffff:1.2.3.4, 2001:db8::1, junk'],
  ['X-HTTP-Method-Override', 'DELETE'],
  ['Valid-Until', '-1'],
  ['Valid-Until', '9'.repeat(40)],
  ['Origin', 'null'],
  ['traceparent', '00-ffffffffffffffffffffffffffffffff-ffffffffffffffff-ff'],
  ['baggage', '%ff=%00'],
  ['Connection', 'close'],
  ['Upgrade', 'h2c'],
  ['Padding', 'p'.repeat(8_193)],
  // Fields that concern one connection.
  ['Trailer', 'X-A, X-B'],
  ['TE', 'trailers, deflate;q=0.5'],
  ['Keep-Alive', 'timeout=0, max=0'],
  ['Proxy-Connection', 'close'],
  ['Proxy-Authorization', 'Basic eDp4'],
  ['Connection', 'X-Forwarded-For, Content-Length, Host'],
  ['Host', 'evil.example'],
  ['Host', '[::1]:99999'],
  // Fields of the largest size. They are expensive for a reader that works on each part.
  ...[
    'Accept',
    'Accept-Encoding',
    'Authorization',
    'baggage',
    'Content-Type',
    'Cookie',
    'If-None-Match',
    'Last-Event-ID',
  ]
    .concat('Prefer', 'traceparent', 'tracestate', 'Valid-Until', 'X-Forwarded-For', 'X-Request-Id')
    .flatMap((name) => ['a,', ';q=0,', '%20=%ff,', '"\\",', ' '].map((part): Field => [name, fill(part)])),
  ...CURSORS.map((cursor): Field => ['Last-Event-ID', cursor]),
];
export const ODD_TARGETS: readonly [(target: string) => string, ...((target: string) => string)[]] = [
  (target) => target.replace('?', '/?'),
  (target) => `http://other.test${target}`,
  (target) => target.replace('/v0', '/v0/%2e%2e/v0'),
  (target) => target.replace('-', '%2D'),
  (target) => target.slice(0, 1 + (target.length >> 2)),
  (target) => target.replace(/\/(?=[^/]*$)/, '%2f'),
  (target) => target.replace(/\/(?=[^/]*$)/, '/..%2F..%5c'),
  (target) => target.replace(/\/(?=[^/]*$)/, '//'),
  (target) => target.replace(/\/(?=[^/]*$)/, '/./'),
  (target) => target.replace(/\/(?=[^/]*$)/, '/%252e%252e/'),
  (target) => target.replace(/\/(?=[^/]*$)/, '\\'),
  () => '/console/orders%2f0x1%3f/..%2f..%2fv0alpha%2fbook%2fx',
  () => '/docs/nope',
  () => '*',
  () => '/',
];
