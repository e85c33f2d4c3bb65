import type { OperationId } from '@makerbook/contracts-http';
import { type BaseWallet, toBeHex, ZeroAddress } from 'ethers';
import {
  type Asked,
  asCancellations,
  CANCELLATIONS_PATH,
  cancelling,
  type ExitKind,
  json,
  listing,
  nowSeconds,
  ORDERS_PATH,
  QUOTE_PATH,
  type RequestMaker,
  type SignedItem,
} from '../kit/make-requests.js';
import type { RawAnswer } from '../kit/raw-http.js';

/** What rows make their requests with. */
export interface Bed {
  readonly make: RequestMaker;
  readonly makers: Makers;
  /** Each request comes from a client address of its own, unless one is given. */
  send(asked: Asked, client?: string): Promise<RawAnswer>;
}

/** The first five are on the whitelist. */
export interface Makers {
  readonly maker: BaseWallet;
  /** Spends its budget. */
  readonly spender: BaseWallet;
  /** Has an open order, which is never cancelled. */
  readonly keeper: BaseWallet;
  /** Has cancelled all its orders on the chain. */
  readonly canceller: BaseWallet;
  readonly removed: BaseWallet;
  readonly stranger: BaseWallet;
}

/** Limits of the stack, low enough to be reached by a few requests. */
export const limits = {
  ordersPerPost: 60,
  burst: 50,
  openOrders: 40,
  clientRequests: 100,
  cancelsPerDelete: 100,
  listBurst: 20,
  connections: 256,
};
export const BODY_BYTES_MAX = 262_144;

/** How a refusal is provoked, and what it names. */
export interface ErrorRow {
  /** By the id that OpenAPI has for it; `any` where it is not known yet which is meant. */
  readonly operation: OperationId | 'any';
  readonly code: string;
  readonly when: string;
  /** Prepares what has to be, and makes the request that is refused; or hands back its answer, where it is one of many. */
  readonly ask: (bed: Bed) => Asked | Promise<Asked | RawAnswer>;
  /** The address that the request comes from, where it matters. */
  readonly client?: string;
  /** The item that is named; `some` where time decides which. */
  readonly index?: number | 'some';
  readonly pointers?: readonly string[];
  readonly headers?: Readonly<Record<string, RegExp>>;
}

type Details = Omit<ErrorRow, 'operation' | 'code' | 'when' | 'ask'>;
type Item = Record<string, unknown> & { readonly order: Record<string, unknown> };

const rowsOf =
  (operation: ErrorRow['operation']) =>
  (code: string, when: string, ask: ErrorRow['ask'], details: Details = {}): ErrorRow => ({
    operation,
    code,
    when,
    ask,
    ...details,
  });
const retryAfter = { 'retry-after': /^[1-9][0-9]*$/ };
const others = '203.0.113.';

/** Sends requests of one client address until its limit is spent. */
const spending =
  (client: string, ask: (bed: Bed) => Asked): ErrorRow['ask'] =>
  async (bed) => {
    const asked = ask(bed);
    await Promise.all(Array.from({ length: limits.clientRequests }, () => bed.send(asked, client)));
    return asked;
  };

const post = rowsOf('placeOrders');
const body = (content: string | Uint8Array, headers: Record<string, string> = json): Asked => ({
  method: 'POST',
  target: ORDERS_PATH,
  headers,
  body: content,
});

/** A good item, and behind it one that is changed after it was signed. */
const spoilt =
  (change: (item: Item) => unknown): ErrorRow['ask'] =>
  ({ make, makers }) => {
    const items = [make.order(makers.maker), make.order(makers.maker)].map(({ order, signature }) => ({
      order: { ...order },
      signature,
    }));
    return body(JSON.stringify([items[0], change(items[1] as Item)]));
  };
const withOrder = (change: Record<string, unknown>) =>
  spoilt((item) => ({ ...item, order: { ...item.order, ...change } }));
const wrongAt = (pointer: string): Details => ({ index: 1, pointers: [`/1${pointer}`] });

/** A good item, and behind it one with other terms, signed as they are. */
const signedWith =
  (change: (bed: Bed) => Parameters<RequestMaker['order']>[1], of: keyof Makers = 'maker'): ErrorRow['ask'] =>
  (bed) =>
    bed.make.post([bed.make.order(bed.makers.maker), bed.make.order(bed.makers[of], change(bed))]);

/** A good item, and behind it one whose signature is made otherwise. */
const signedBy =
  (sign: (item: SignedItem, bed: Bed) => string): ErrorRow['ask'] =>
  (bed) => {
    const item = bed.make.order(bed.makers.maker);
    return bed.make.post([bed.make.order(bed.makers.maker), { ...item, signature: sign(item, bed) }]);
  };

/** Many orders of one maker. */
const many = ({ make }: Bed, maker: BaseWallet, count: number) =>
  make.post(Array.from({ length: count }, () => make.order(maker)));

/** A good order, with this as its Valid-Until, or another header. */
const valid =
  (until: () => number | string, header = 'Valid-Until'): ErrorRow['ask'] =>
  ({ make, makers }) => {
    const asked = make.post([make.order(makers.maker)]);
    return { ...asked, headers: { ...asked.headers, [header]: String(until()) } };
  };

async function placed(bed: Bed, maker: BaseWallet): Promise<SignedItem> {
  const item = bed.make.order(maker);
  const answer = await bed.send(bed.make.post([item]));
  if (answer.status !== 200) throw new Error(`not placed: ${answer.body}`);
  return item;
}

const placing: readonly ErrorRow[] = [
  post('invalid_request', 'the body is no JSON', () => body('[{"order":')),
  post('invalid_request', 'there is no body', () => ({ method: 'POST', target: ORDERS_PATH, headers: json })),
  post('invalid_request', 'the body is not UTF-8', () => body(Uint8Array.of(0x5b, 0x22, 0xff, 0x22, 0x5d))),
  post('invalid_request', 'the body is UTF-16', () => body(Buffer.from('\ufeff[]', 'utf16le'))),
  post('invalid_request', 'the body is no array', () => body('{}'), { pointers: [''] }),
  post('invalid_request', 'the array is empty', () => body('[]'), { pointers: [''] }),
  post(
    'invalid_request',
    'an item is null',
    spoilt(() => null),
    wrongAt(''),
  ),
  post('invalid_request', 'a field is missing', withOrder({ nonce: undefined }), wrongAt('/order/nonce')),
  post('invalid_request', 'a field is unknown', withOrder({ 'a/b~c': 1 }), wrongAt('/order/a~1b~0c')),
  post(
    'invalid_request',
    'a field is named __proto__',
    ({ make, makers }) => {
      const { order, signature } = make.order(makers.maker);
      const polluting = JSON.stringify(order).replace('{', '{"__proto__":{"polluted":1},');
      return body(`[{"order":${polluting},"signature":"${signature}"}]`);
    },
    { index: 0, pointers: ['/0/order/__proto__'] },
  ),
  post('invalid_request', 'a quantity is a number', withOrder({ salt: 1 }), wrongAt('/order/salt')),
  post('invalid_request', 'a quantity has no digits', withOrder({ salt: '0x' }), wrongAt('/order/salt')),
  post(
    'invalid_request',
    'a quantity has 33 bytes',
    withOrder({ salt: `0x${'0'.repeat(66)}` }),
    wrongAt('/order/salt'),
  ),
  post('invalid_request', 'a quantity is decimal', withOrder({ expiresAt: '4000000000' }), wrongAt('/order/expiresAt')),
  post(
    'invalid_request',
    'an address has 19 bytes',
    withOrder({ permittedTaker: `0x${'0'.repeat(38)}` }),
    wrongAt('/order/permittedTaker'),
  ),
  post('invalid_request', 'a token amount is a list', withOrder({ making: [] }), wrongAt('/order/making')),
  post(
    'invalid_request',
    'a signature has half a byte',
    spoilt((item) => ({ ...item, signature: `${item['signature']}0` })),
    wrongAt('/signature'),
  ),
  post('invalid_request', 'two places are wrong', withOrder({ salt: 1, nonce: 1 }), {
    index: 1,
    pointers: ['/1/order/salt', '/1/order/nonce'],
  }),
  post(
    'invalid_request',
    'nothing is sold',
    signedWith(({ make, makers }) => ({ making: { ...make.order(makers.maker).order.making, amount: '0x0' } })),
    wrongAt('/order/making/amount'),
  ),
  post(
    'invalid_request',
    'nothing is bought',
    signedWith(({ make, makers }) => ({ taking: { ...make.order(makers.maker).order.taking, amount: '0x00' } })),
    wrongAt('/order/taking/amount'),
  ),
  post(
    'invalid_request',
    'a token is sold for itself',
    signedWith(({ make, makers }) => ({ taking: make.order(makers.maker).order.making })),
    wrongAt('/order/taking/token'),
  ),
  post('invalid_request', 'the body is nested nine levels deep', () => body('['.repeat(9) + ']'.repeat(9))),
  post('invalid_request', 'an object has 33 members', () =>
    body(JSON.stringify([Object.fromEntries(Array.from({ length: 33 }, (_, n) => [`k${n}`, 0]))])),
  ),
  post('invalid_request', 'the body holds 10,001 values', () => body(`[${'0,'.repeat(9_999)}0]`)),
  post(
    'too_many_orders',
    'the request has more than are allowed',
    (bed) => many(bed, bed.makers.maker, limits.ordersPerPost + 1),
    { index: limits.ordersPerPost },
  ),
  post(
    'too_many_orders',
    'the request has more than the full budget holds',
    (bed) => many(bed, bed.makers.maker, limits.burst + 1),
    { index: limits.burst },
  ),
  post(
    'too_many_orders',
    'more would be open than a maker may have',
    (bed) => many(bed, bed.makers.maker, limits.openOrders + 1),
    { index: limits.openOrders },
  ),
  post(
    'unsupported_permitted_taker',
    'an order is for one taker',
    signedWith(({ makers }) => ({ permittedTaker: makers.stranger.address })),
    wrongAt('/order/permittedTaker'),
  ),
  post(
    'invalid_signature',
    'somebody else has signed',
    signedBy(({ order }, { make, makers }) => make.sign.signOrder(makers.stranger, order)),
    { index: 1 },
  ),
  post(
    'maker_not_whitelisted',
    'the maker is unknown',
    signedWith(() => ({}), 'stranger'),
    wrongAt('/order/maker'),
  ),
  post(
    'maker_not_whitelisted',
    'the maker was removed',
    signedWith(() => ({}), 'removed'),
    wrongAt('/order/maker'),
  ),
  post(
    'rate_limited',
    'the budget of the maker is spent',
    async (bed) => {
      const { spender } = bed.makers;
      const spend = many(bed, spender, limits.openOrders);
      const ask = many(bed, spender, limits.burst);
      const { status, body: said } = await bed.send(spend);
      if (status !== 200) throw new Error(`not placed: ${said}`);
      return ask;
    },
    { index: 'some', headers: { ...retryAfter, ratelimit: /"orders"/ } },
  ),
  post(
    'rate_limited',
    'the limit of the client address is spent',
    spending(`${others}1`, () => body('[]')),
    { client: `${others}1`, headers: { ...retryAfter, ratelimit: /r=0/ } },
  ),
  post(
    'order_expired',
    'an order expires now',
    signedWith(() => ({ expiresAt: toBeHex(nowSeconds()) })),
    wrongAt('/order/expiresAt'),
  ),
  post(
    'order_cancelled',
    'the nonce of the chain is higher',
    ({ make, makers }) => make.post([make.order(makers.canceller)]),
    { index: 0, pointers: ['/0/order/nonce'] },
  ),
  post(
    'duplicate',
    'an order is there twice',
    ({ make, makers }) => {
      const item = make.order(makers.maker);
      return make.post([make.order(makers.maker), item, item]);
    },
    { index: 2 },
  ),
  post(
    'duplicate',
    'an order is stored already, written otherwise',
    async (bed) => {
      const { order, signature } = await placed(bed, bed.makers.maker);
      const same = { ...order, nonce: `0x${'0'.repeat(64)}`, salt: `0x${order.salt.slice(2).toUpperCase()}` };
      return bed.make.post([bed.make.order(bed.makers.maker), { order: same, signature }]);
    },
    { index: 1 },
  ),
  post(
    'duplicate',
    'an order was cancelled',
    async (bed) => {
      const item = await placed(bed, bed.makers.maker);
      await bed.send(bed.make.cancel([item], bed.makers.maker));
      return bed.make.post([item]);
    },
    { index: 0 },
  ),
  post(
    'valid_until_passed',
    'Valid-Until has passed',
    valid(() => nowSeconds() - 1),
  ),
  post(
    'invalid_request',
    'Valid-Until is no number of seconds',
    valid(() => 'soon'),
  ),
  post(
    'valid_until_passed',
    'Valid-Until-Ms has passed',
    valid(() => Date.now() - 1, 'Valid-Until-Ms'),
  ),
  post(
    'invalid_request',
    'Valid-Until-Ms is no number of milliseconds',
    valid(() => '1.5', 'Valid-Until-Ms'),
    { pointers: ['/Valid-Until-Ms'] },
  ),
  post('payload_too_large', 'the body is one byte too large', () => body(' '.repeat(BODY_BYTES_MAX + 1))),
  post('payload_too_large', 'the headers are too large', () => body('[]', { ...json, 'X-Large': 'x'.repeat(70_000) })),
  post('unsupported_media_type', 'there is no Content-Type', () => body('[]', {})),
  post('unsupported_media_type', 'the body is a form', () =>
    body('[]', { 'Content-Type': 'application/x-www-form-urlencoded' }),
  ),
  post('unsupported_media_type', 'the body is packed', () => body('[]', { ...json, 'Content-Encoding': 'gzip' })),
];

const get = rowsOf('listOrders');
/** The list request of the maker with other parameters; undefined leaves one out. */
const listWith =
  (change: Record<string, string | undefined>, more = ''): ErrorRow['ask'] =>
  ({ make, makers }) => {
    const { method, target } = make.list(makers.maker);
    const query = { ...Object.fromEntries(new URLSearchParams(target.split('?')[1])), ...change };
    const given = Object.entries(query).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]]));
    return { method, target: `${listing(Object.fromEntries(given) as Record<string, string>).target}${more}` };
  };

const listingRows: readonly ErrorRow[] = [
  get('invalid_request', 'there are no parameters', () => listing({}), {
    pointers: ['/issuedAt', '/salt', '/signature'],
  }),
  get('invalid_request', 'issuedAt is missing', listWith({ issuedAt: undefined }), { pointers: ['/issuedAt'] }),
  get('invalid_request', 'issuedAt is hex', listWith({ issuedAt: '0x1' }), { pointers: ['/issuedAt'] }),
  get('invalid_request', 'issuedAt is no uint256', listWith({ issuedAt: '9'.repeat(78) }), { pointers: ['/issuedAt'] }),
  get('invalid_request', 'salt has 33 bytes', listWith({ salt: `0x${'0'.repeat(66)}` }), { pointers: ['/salt'] }),
  get('invalid_request', 'salt is given twice', listWith({}, '&salt=0x1'), { pointers: ['/salt'] }),
  get('invalid_request', 'salt is an array', listWith({ salt: undefined, 'salt[]': '0x1' }), {
    pointers: ['/salt', '/salt[]'],
  }),
  get('invalid_request', 'a parameter is misspelt', listWith({ cursr: '1' }), { pointers: ['/cursr'] }),
  get('invalid_request', 'signature is no hex', listWith({ signature: 'x' }), { pointers: ['/signature'] }),
  get('invalid_signature', 'the signature has 66 bytes', listWith({ signature: `0x${'11'.repeat(66)}` })),
  get('invalid_signature', 'no key can have made the signature', listWith({ signature: `0x${'ff'.repeat(64)}1b` })),
  get('request_expired', 'it was issued too long ago', ({ make, makers }) =>
    make.list(makers.maker, nowSeconds() - 40),
  ),
  get('request_expired', 'it was issued in the future', ({ make, makers }) =>
    make.list(makers.maker, nowSeconds() + 60),
  ),
  get('maker_not_whitelisted', 'the signer is unknown', ({ make, makers }) => make.list(makers.stranger)),
  get('request_replayed', 'the same request was answered before', async (bed) => {
    const asked = bed.make.list(bed.makers.maker);
    await bed.send(asked);
    return asked;
  }),
  get(
    'rate_limited',
    'the limit of the client address is spent',
    spending(`${others}2`, () => listing({})),
    { client: `${others}2`, headers: retryAfter },
  ),
  get('invalid_request', 'the limit is zero', listWith({ limit: '0' }), { pointers: ['/limit'] }),
  get('invalid_request', 'the limit is too large', listWith({ limit: '1001' }), { pointers: ['/limit'] }),
  get('invalid_request', 'the cursor is no cursor', listWith({ cursor: '-1' }), { pointers: ['/cursor'] }),
  get(
    'rate_limited',
    'the budget of the maker is spent',
    async (bed) => {
      const { make, makers, send } = bed;
      // It fills again all the time: more lists than it holds, at once.
      const lists = Array.from({ length: 3 * limits.listBurst }, () => make.list(makers.keeper));
      const answers = await Promise.all(lists.map((list) => send(list)));
      return answers.find(({ status }) => status !== 200) ?? lists[0] ?? listing({});
    },
    { headers: { ...retryAfter, ratelimit: /"lists"/ } },
  ),
  get('payload_too_large', 'the query is too large', listWith({ padding: 'x'.repeat(70_000) })),
];

const find = rowsOf('findOrder');
const someHash = toBeHex(1, 32);
const finding =
  (change: Record<string, string>, path = someHash): ErrorRow['ask'] =>
  ({ make, makers }) => {
    const { method, target } = make.find(makers.maker, someHash);
    const query = { ...Object.fromEntries(new URLSearchParams(target.split('?')[1])), ...change };
    return { method, target: `${ORDERS_PATH}/${path}?${new URLSearchParams(query)}` };
  };

const findingRows: readonly ErrorRow[] = [
  find('invalid_request', 'the path has no hash', finding({}, '0x12'), { pointers: ['/orderHash'] }),
  find('invalid_request', 'a parameter is unknown', finding({ limit: '1' }), { pointers: ['/limit'] }),
  find('request_expired', 'it was issued too long ago', ({ make, makers }) =>
    make.find(makers.maker, someHash, nowSeconds() - 40),
  ),
  find('invalid_signature', 'the signature has 66 bytes', finding({ signature: `0x${'11'.repeat(66)}` })),
  find('maker_not_whitelisted', 'the signer is unknown', ({ make, makers }) => make.find(makers.stranger, someHash)),
  find('maker_not_whitelisted', 'another hash was signed', ({ make, makers }) => {
    const { method, target } = make.find(makers.maker, someHash);
    return { method, target: target.replace(someHash, toBeHex(2, 32)) };
  }),
  find('request_replayed', 'the same request was answered before', async (bed) => {
    const asked = bed.make.find(bed.makers.maker, someHash);
    await bed.send(asked);
    return asked;
  }),
  find('not_found', 'nobody has placed the hash', ({ make, makers }) => make.find(makers.maker, someHash)),
  find('not_found', 'the order is of another maker', async ({ make, makers, send }) => {
    const item = make.order(makers.spender);
    await send(make.post([item]));
    return make.find(makers.maker, item.orderHash);
  }),
  find(
    'rate_limited',
    'the limit of the client address is spent',
    spending(`${others}12`, finding({ limit: '1' }) as (bed: Bed) => Asked),
    { client: `${others}12`, headers: retryAfter },
  ),
];

const history = rowsOf('readHistory');
const readingPage =
  (change: Record<string, string>): ErrorRow['ask'] =>
  ({ make, makers }) => {
    const { method, target } = make.history(makers.maker);
    return { method, target: `${target}&${new URLSearchParams(change)}` };
  };

const historyRows: readonly ErrorRow[] = [
  history('invalid_request', 'the limit is too high', readingPage({ limit: '101' }), { pointers: ['/limit'] }),
  history('invalid_request', 'a kind is unknown', readingPage({ happened: 'FILLED,LOST' }), {
    index: 1,
    pointers: ['/happened/1'],
  }),
  history('invalid_request', 'the cursor is malformed', readingPage({ cursor: '7:0x12' }), { pointers: ['/cursor'] }),
  history('request_expired', 'it was issued too long ago', ({ make, makers }) =>
    make.history(makers.maker, nowSeconds() - 40),
  ),
  history('invalid_signature', 'the signature has 66 bytes', ({ make, makers }) => {
    const { method, target } = make.history(makers.maker);
    return { method, target: target.replace(/signature=0x[0-9a-f]+/, `signature=0x${'11'.repeat(66)}`) };
  }),
  history('maker_not_whitelisted', 'the signer is unknown', ({ make, makers }) => make.history(makers.stranger)),
  history('request_replayed', 'the same request was answered before', async (bed) => {
    const asked = bed.make.history(bed.makers.maker);
    await bed.send(asked);
    return asked;
  }),
  history(
    'rate_limited',
    'the limit of the client address is spent',
    spending(`${others}13`, readingPage({ limit: '0' }) as (bed: Bed) => Asked),
    { client: `${others}13`, headers: retryAfter },
  ),
];

const stream = rowsOf('streamOrders');

const streamRows: readonly ErrorRow[] = [
  stream(
    'invalid_request',
    'a parameter is unknown',
    ({ make, makers }) => {
      const { method, target } = make.stream(makers.maker);
      return { method, target: `${target}&limit=1` };
    },
    { pointers: ['/limit'] },
  ),
  stream(
    'invalid_request',
    'the last event is none',
    ({ make, makers }) => ({ ...make.stream(makers.maker), headers: { 'Last-Event-ID': 'x' } }),
    { pointers: ['/Last-Event-ID'] },
  ),
  stream('request_expired', 'it was issued too long ago', ({ make, makers }) =>
    make.stream(makers.maker, nowSeconds() - 40),
  ),
  stream('invalid_signature', 'the signature has 66 bytes', ({ make, makers }) => {
    const { method, target } = make.stream(makers.maker);
    return { method, target: target.replace(/signature=0x[0-9a-f]+/, `signature=0x${'11'.repeat(66)}`) };
  }),
  stream('maker_not_whitelisted', 'the signer is unknown', ({ make, makers }) => make.stream(makers.stranger)),
  stream('request_replayed', 'the same request was answered before', async (bed) => {
    const asked = bed.make.stream(bed.makers.maker);
    // With a HEAD no stream begins.
    await bed.send({ ...asked, method: 'HEAD' });
    return asked;
  }),
  stream(
    'rate_limited',
    'the limit of the client address is spent',
    spending(`${others}14`, () => ({ method: 'GET', target: `${ORDERS_PATH}/stream` })),
    { client: `${others}14`, headers: retryAfter },
  ),
];

const remove = rowsOf('cancelOrders');
const hash = (n: number) => toBeHex(n, 32);
const someSignature = `0x${'11'.repeat(64)}1b`;
const pairs = (count: number) => Array.from({ length: count }, (_, n) => [hash(n + 1), someSignature] as const);
/** Two orders of the keeper are stored; the second signature is made otherwise. */
const cancelledBy =
  (sign: (item: SignedItem, bed: Bed) => string): ErrorRow['ask'] =>
  async (bed) => {
    const { make, makers } = bed;
    const [first, second] = [await placed(bed, makers.keeper), await placed(bed, makers.keeper)] as const;
    const right = make.sign.signCancellation(makers.keeper, first.orderHash, first.order.salt);
    return cancelling([
      [first.orderHash, right],
      [second.orderHash, sign(second, bed)],
    ]);
  };
const secondSignature: Details = { index: 1, pointers: ['/signatures/1'] };

const cancellingRows: readonly ErrorRow[] = [
  remove('invalid_request', 'there are no parameters', () => ({ method: 'DELETE', target: ORDERS_PATH }), {
    pointers: ['/orderHashes', '/signatures'],
  }),
  remove('invalid_request', 'a parameter is misspelt', () => cancelling(pairs(1), '&sallt=0x1'), {
    pointers: ['/sallt'],
  }),
  remove('invalid_request', 'there is no hash', () => cancelling([['', someSignature]]), {
    pointers: ['/orderHashes'],
  }),
  remove('invalid_request', 'there is no signature', () => cancelling([[hash(1), '']]), { pointers: ['/signatures'] }),
  remove('invalid_request', 'the hashes are given twice', () => cancelling(pairs(1), `&orderHashes=${hash(2)}`), {
    pointers: ['/orderHashes'],
  }),
  remove(
    'invalid_request',
    'there are more hashes than signatures',
    () => ({
      method: 'DELETE',
      target: `${ORDERS_PATH}?orderHashes=${hash(1)},${hash(2)}&signatures=${someSignature}`,
    }),
    { pointers: ['/signatures'] },
  ),
  remove('invalid_request', 'a hash has 31 bytes', () => cancelling([...pairs(1), ['0x11', someSignature]]), {
    index: 1,
    pointers: ['/orderHashes/1'],
  }),
  remove(
    'invalid_request',
    'there are more hashes than allowed',
    () => cancelling(pairs(limits.cancelsPerDelete + 1)),
    {
      pointers: ['/orderHashes', '/signatures'],
    },
  ),
  remove('invalid_request', 'the salt is no quantity', () => cancelling(pairs(1), '&salt=1'), { pointers: ['/salt'] }),
  remove('invalid_request', 'the salt is given twice', () => cancelling(pairs(1), '&salt=0x1&salt=0x1'), {
    pointers: ['/salt'],
  }),
  remove(
    'invalid_signature',
    'somebody else has signed',
    cancelledBy(({ orderHash, order }, { make, makers }) =>
      make.sign.signCancellation(makers.stranger, orderHash, order.salt),
    ),
    secondSignature,
  ),
  remove(
    'invalid_signature',
    'a signature is cut',
    () => cancelling([...pairs(1), [hash(2), '0x11']]),
    secondSignature,
  ),
  remove(
    'rate_limited',
    'the limit of the client address is spent',
    spending(`${others}3`, () => ({ method: 'DELETE', target: ORDERS_PATH })),
    { client: `${others}3`, headers: retryAfter },
  ),
  remove('payload_too_large', 'the query is too large', () => cancelling(pairs(400))),
];

const removeByPost = rowsOf('cancelOrdersByPost');
const removing = (items: unknown, query = '', headers: Record<string, string> = json): Asked => ({
  method: 'POST',
  target: `${CANCELLATIONS_PATH}${query}`,
  headers,
  body: typeof items === 'string' ? items : JSON.stringify(items),
});
const inBody =
  (ask: ErrorRow['ask']): ErrorRow['ask'] =>
  async (bed) => {
    const asked = await ask(bed);
    return 'status' in asked ? asked : asCancellations(asked);
  };
const someItem = { orderHash: hash(1), signature: someSignature };
const secondItem: Details = { index: 1, pointers: ['/1/signature'] };

const cancellingByPost: readonly ErrorRow[] = [
  removeByPost('invalid_request', 'the body is no JSON', () => removing('[')),
  removeByPost('invalid_request', 'the body is no array', () => removing({}), { pointers: [''] }),
  removeByPost('invalid_request', 'the array is empty', () => removing([]), { pointers: [''] }),
  removeByPost(
    'invalid_request',
    'a hash has 31 bytes',
    () => removing([someItem, { ...someItem, orderHash: '0x11' }]),
    {
      index: 1,
      pointers: ['/1/orderHash'],
    },
  ),
  removeByPost('invalid_request', 'a field is unknown', () => removing([someItem, { ...someItem, hash: '0x1' }]), {
    index: 1,
    pointers: ['/1/hash'],
  }),
  removeByPost(
    'invalid_request',
    'the salt of an item is no quantity',
    () => removing([someItem, { ...someItem, salt: '1' }]),
    {
      index: 1,
      pointers: ['/1/salt'],
    },
  ),
  removeByPost('invalid_request', 'there are more items than allowed', () =>
    removing(Array.from({ length: limits.cancelsPerDelete + 1 }, () => someItem)),
  ),
  removeByPost('invalid_request', 'the salt is no quantity', () => removing([someItem], '?salt=1'), {
    pointers: ['/salt'],
  }),
  removeByPost('invalid_request', 'a parameter of DELETE is given', () => removing([someItem], '?signatures=0x'), {
    pointers: ['/signatures'],
  }),
  ...cancellingRows
    .filter(({ code, index }) => code === 'invalid_signature' && index === 1)
    .map(({ when, ask }) => removeByPost('invalid_signature', when, inBody(ask), secondItem)),
  removeByPost(
    'rate_limited',
    'the limit of the client address is spent',
    spending(`${others}5`, () => removing('[]')),
    { client: `${others}5`, headers: retryAfter },
  ),
  removeByPost('payload_too_large', 'the body is one byte too large', () => removing(' '.repeat(BODY_BYTES_MAX + 1))),
  removeByPost('unsupported_media_type', 'the body is text', () =>
    removing('[]', '', { 'Content-Type': 'text/plain' }),
  ),
];

const exits = [
  ['cancelAllOrders', 'cancel-all', 'untilMs'],
  ['setSwitch', 'heartbeat', 'issuedAtMs'],
  ['nameCancelKeys', 'cancel-keys', 'issuedAtMs'],
] as const satisfies readonly (readonly [OperationId, ExitKind, string])[];

/** What a maker says of all its orders: of one who has none. */
const exitRows = exits.flatMap(([operation, kind, time], n): ErrorRow[] => {
  const row = rowsOf(operation);
  const asking =
    (more: object | (() => object), of: keyof Makers = 'canceller', by?: keyof Makers): ErrorRow['ask'] =>
    ({ make, makers }) =>
      make.exit(kind, makers[of], more instanceof Function ? more() : more, by && makers[by]);
  const other =
    (change: Partial<Asked>): ErrorRow['ask'] =>
    ({ make, makers }) => ({ ...make.exit(kind, makers.canceller), ...change });
  const client = `${others}${20 + n}`;
  return [
    row('invalid_request', 'the body is no JSON', other({ body: '{' })),
    row('invalid_request', 'the body is an array', other({ body: '[]' }), { pointers: [''] }),
    row('invalid_request', 'a field is unknown', asking({ more: 1 }), { pointers: ['/more'] }),
    row('invalid_request', 'the maker is no address', asking({ maker: '0x1' }), { pointers: ['/maker'] }),
    row('invalid_request', 'the time is far ahead', asking({ [time]: Date.now() + 36_000_000 }), {
      pointers: [`/${time}`],
    }),
    row('invalid_signature', 'a stranger has signed', asking({}, 'canceller', 'stranger'), {
      pointers: ['/signature'],
    }),
    row('invalid_request', 'the time is long ago', asking({ [time]: 7 }), { pointers: [`/${time}`] }),
    row(
      'invalid_signature',
      'another time was signed',
      asking(() => ({ [time]: Date.now() - 1_000 })),
      {
        pointers: ['/signature'],
      },
    ),
    row('invalid_signature', 'it is none', asking({ signature: '0x12' }), { pointers: ['/signature'] }),
    row('maker_not_whitelisted', 'the maker was never on the whitelist', asking({}, 'stranger'), {
      pointers: ['/maker'],
    }),
    row(
      'rate_limited',
      'the limit of the client address is spent',
      spending(client, ({ make, makers }) => ({ ...make.exit(kind, makers.canceller), body: '[]' })),
      { client, headers: retryAfter },
    ),
    row('payload_too_large', 'the body is one byte too large', other({ body: ' '.repeat(BODY_BYTES_MAX + 1) })),
    row('unsupported_media_type', 'the body is text', other({ headers: { 'Content-Type': 'text/plain' } })),
  ];
});

/** Operations that are read without a signature. */
const documents = {
  describeService: `${ORDERS_PATH}/info`,
  readOpenApi: '/openapi.json',
  readAsyncApi: '/asyncapi.json',
  readDocs: '/docs',
} as const;
const read = (target: string) => (): Asked => ({ method: 'GET', target });
const reading = Object.entries(documents).map(([operation, target], n) =>
  rowsOf(operation as keyof typeof documents)(
    'rate_limited',
    'the limit of the client address is spent',
    spending(`${others}${6 + n}`, read(target)),
    { client: `${others}${6 + n}`, headers: retryAfter },
  ),
);

/** A request of each operation that is answered with 200, or would be if its orders were there. */
export const goodRequests: Readonly<Record<OperationId, (bed: Bed) => Asked>> = {
  placeOrders: ({ make, makers }) => make.post([make.order(makers.maker)]),
  listOrders: ({ make, makers }) => make.list(makers.maker),
  findOrder: ({ make, makers }) => make.find(makers.maker, someHash),
  readHistory: ({ make, makers }) => make.history(makers.maker),
  streamOrders: ({ make, makers }) => make.stream(makers.maker),
  cancelOrders: ({ make, makers }) => make.cancel([make.order(makers.maker)], makers.maker),
  cancelOrdersByPost: () => removing([someItem]),
  cancelAllOrders: ({ make, makers }) => make.exit('cancel-all', makers.canceller),
  setSwitch: ({ make, makers }) => make.exit('heartbeat', makers.canceller),
  nameCancelKeys: ({ make, makers }) => make.exit('cancel-keys', makers.canceller),
  patchQuote: ({ make }) => make.patch(make.quote(), '2'),
  describeService: read(documents.describeService),
  readOpenApi: read(documents.readOpenApi),
  readAsyncApi: read(documents.readAsyncApi),
  readDocs: read(documents.readDocs),
};

const patch = rowsOf('patchQuote');
const patchBody = (content: string, headers: Record<string, string> = json): Asked => ({
  method: 'PATCH',
  target: QUOTE_PATH,
  headers,
  body: content,
});
const inData: Details = { pointers: ['/data'] };

const patching: readonly ErrorRow[] = [
  patch('invalid_request', 'the body is no JSON', () => patchBody('{')),
  patch('invalid_request', 'the body is an array', () => patchBody('[]'), { pointers: [''] }),
  patch('invalid_request', 'there is no data', () => patchBody('{"minOutput":{"amount":"1"}}'), {
    pointers: ['/data'],
  }),
  patch('invalid_request', 'a field is unknown', () => patchBody('{"data":"0x","maxInput":{}}'), {
    pointers: ['/maxInput'],
  }),
  patch('invalid_request', 'minOutput is null', () => patchBody('{"data":"0x","minOutput":null}'), {
    pointers: ['/minOutput'],
  }),
  patch('invalid_request', 'the amount is a number', ({ make }) => make.patch(make.quote(), 7), {
    pointers: ['/minOutput/amount'],
  }),
  patch('invalid_request', 'the amount is negative', ({ make }) => make.patch(make.quote(), '-1'), {
    pointers: ['/minOutput/amount'],
  }),
  patch('invalid_request', 'the amount is 2^256', ({ make }) => make.patch(make.quote(), String(2n ** 256n)), {
    pointers: ['/minOutput/amount'],
  }),
  patch('no_changes', 'there is no minOutput', ({ make }) => patchBody(JSON.stringify({ data: make.quote() }))),
  patch('no_changes', 'the minimum is the same', ({ make }) => make.patch(make.quote({ minOutput: 7n }), '0x07')),
  patch('invalid_date', 'the data is no hex', ({ make }) => make.patch('0xzz', '1'), inData),
  patch('invalid_date', 'the data is empty', ({ make }) => make.patch('0x', '1'), inData),
  patch(
    'invalid_date',
    'the selector is unknown',
    ({ make }) => make.patch(make.quote().replace(/^0x.{8}/, '0xdeadbeef'), '1'),
    inData,
  ),
  patch('invalid_date', 'bytes are behind the call', ({ make }) => make.patch(`${make.quote()}00`, '2'), inData),
  patch('invalid_date', 'the deadline has passed', ({ make }) => make.patch(make.quote({ deadline: 1n }), '2'), inData),
  patch(
    'invalid_signature',
    'no quote signer has signed',
    ({ make, makers }) => make.patch(make.quote({ signer: makers.stranger }), '2'),
    inData,
  ),
  patch('field_not_exists', 'the call has no minimum', ({ make }) =>
    make.patch(make.quote({ minOutput: undefined }), '2'),
  ),
  patch(
    'rate_limited',
    'the limit of the client address is spent',
    spending(`${others}4`, () => patchBody('{}')),
    { client: `${others}4`, headers: retryAfter },
  ),
  patch('payload_too_large', 'the body is one byte too large', () => patchBody(' '.repeat(BODY_BYTES_MAX + 1))),
  patch('unsupported_media_type', 'the body is text', () => patchBody('{}', { 'Content-Type': 'text/plain' })),
  patch('unsupported_media_type', 'the body is packed', () => patchBody('{}', { ...json, 'Content-Encoding': 'br' })),
];

const anywhere = rowsOf('any');
const at =
  (method: string, target: string): ErrorRow['ask'] =>
  () => ({ method, target });
const allowing = (...methods: string[]): Details => ({
  headers: { allow: new RegExp(methods.map((method) => `(?=.*\\b${method}\\b)`).join('')) },
});

const roads: readonly ErrorRow[] = [
  anywhere('invalid_request', 'it is no HTTP', () => ({
    method: 'GET',
    target: '/',
    headers: { 'Content-Length': 'x' },
  })),
  anywhere('payload_too_large', 'the headers are too large', () => ({
    method: 'GET',
    target: '/',
    headers: { 'X-Large': 'x'.repeat(70_000) },
  })),
  anywhere('unsupported_media_type', 'a body is packed that nobody needs', () => ({
    method: 'GET',
    target: ORDERS_PATH,
    headers: { 'Content-Encoding': 'gzip' },
    body: '[]',
  })),
  anywhere('not_found', 'the path is two slashes', at('GET', '//')),
  anywhere('method_not_allowed', 'the root is posted to', at('POST', '/'), allowing('GET')),
  anywhere('not_found', 'the path ends with a slash', at('GET', `${ORDERS_PATH}/`)),
  anywhere('not_found', 'the path of a POST ends with a slash', at('POST', `${ORDERS_PATH}/`)),
  anywhere('not_found', 'the path is in capitals', at('GET', ORDERS_PATH.toUpperCase())),
  anywhere('not_found', 'the path goes on', at('DELETE', `${ORDERS_PATH}/${ZeroAddress}/more`)),
  anywhere('not_found', 'the path is another version', at('GET', '/v1/limit-orders')),
  anywhere('not_found', 'the metrics are asked for', at('GET', '/metrics')),
  anywhere(
    'method_not_allowed',
    'PUT of orders',
    at('PUT', ORDERS_PATH),
    allowing('GET', 'HEAD', 'POST', 'DELETE', 'OPTIONS'),
  ),
  anywhere(
    'method_not_allowed',
    'PATCH of orders',
    at('PATCH', ORDERS_PATH),
    allowing('GET', 'HEAD', 'POST', 'DELETE', 'OPTIONS'),
  ),
  ...['GET', 'POST', 'PUT', 'DELETE'].map((method) =>
    anywhere('method_not_allowed', `${method} of a quote`, at(method, QUOTE_PATH), allowing('PATCH', 'OPTIONS')),
  ),
];

/** Each refusal of each operation. */
export const errorRows: readonly ErrorRow[] = [
  ...placing,
  ...listingRows,
  ...findingRows,
  ...historyRows,
  ...streamRows,
  ...cancellingRows,
  ...cancellingByPost,
  ...exitRows,
  ...reading,
  ...patching,
  ...roads,
];

/** Where a part has to break first, or the one connection more. By file and title of the test. */
export const provenElsewhere: Readonly<Record<string, readonly [file: string, title: string]>> = {
  internal: ['shared/http/src/serve-api.live.test.ts', 'a bug is 500 without details of the error'],
  'gone of findOrder': ['services/query/src/find-order.live.test.ts', 'an order whose history is pruned is gone'],
  'gone of readHistory': ['services/query/src/find-order.live.test.ts', 'a page behind what is pruned is gone'],
  'rate_limited of any': ['shared/http/src/serve-api.live.test.ts', 'a client address has so many connections'],
  unavailable: ['test/src/conformance/test-errors.ts', 'every operation is unavailable while its service is away'],
};
