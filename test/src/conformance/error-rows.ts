import type { OperationId } from '@makerbook/contracts-http';
import type { Hex } from '@makerbook/contracts-primitives';
import { partitionOf } from '@makerbook/kafka';
import { type BaseWallet, toBeHex, type Wallet, ZeroAddress } from 'ethers';
import type { OrderTerms } from '../kit/make-requests.js';
import {
  type Asked,
  asCancellations,
  bySalts,
  CANCELLATIONS_PATH,
  cancelling,
  type ExitKind,
  json,
  nowSeconds,
  ORDERS_PATH,
  QUOTE_PATH,
  type RequestMaker,
  type SignedItem,
} from '../kit/make-requests.js';
import type { RawAnswer } from '../kit/raw-http.js';

/** The parts that rows make their requests with. */
export interface Bed {
  readonly make: RequestMaker;
  readonly makers: Makers;
  /** Each request comes from its own client address unless one is given. */
  send(asked: Asked, client?: string): Promise<RawAnswer>;
}

/** All except the last two are on the whitelist. */
export interface Makers {
  readonly maker: BaseWallet;
  /** Spends its budget. */
  readonly spender: BaseWallet;
  /** Has an open order, which is never cancelled. */
  readonly keeper: BaseWallet;
  /** Has cancelled all its orders on the chain. */
  readonly canceller: BaseWallet;
  /** Has a key, and code that accepts no signature. */
  readonly contract: BaseWallet;
  readonly removed: BaseWallet;
  readonly stranger: Wallet;
}

/** Limits of the stack, low enough for a few requests to reach. */
export const limits = {
  ordersPerPost: 60,
  burst: 50,
  openOrders: 40,
  clientRequests: 100,
  cancelsPerDelete: 100,
  listBurst: 20,
};
export const BODY_BYTES_MAX = 262_144;

/** How a refusal is provoked, and what it names. */
export interface ErrorRow {
  /** The operation's id in OpenAPI; `any` if the operation is not known yet. */
  readonly operation: OperationId | 'any';
  readonly code: string;
  readonly when: string;
  /** Prepares and makes the refused request, or returns its answer if it is one of many. */
  readonly ask: (bed: Bed) => Asked | Promise<Asked | RawAnswer>;
  /** The address that the request comes from, if it matters. */
  readonly client?: string;
  /** The index of the named item; `some` if timing decides which. */
  readonly index?: number | 'some';
  readonly pointers?: readonly string[];
  readonly headers?: Readonly<Record<string, RegExp>>;
  /** True if the refusal says what counts, and since when. */
  readonly saysWhatCounts?: true;
}

type Ask = ErrorRow['ask'];
type Details = Omit<ErrorRow, 'operation' | 'code' | 'when' | 'ask'>;
type Item = Record<string, unknown> & { readonly order: Record<string, unknown> };
/** Rows of one operation, keyed by code. */
type Cases = Readonly<Record<string, readonly (readonly [when: string, ask: Ask, details?: Details])[]>>;

const rowsOf = (operation: ErrorRow['operation'], ...cases: readonly Cases[]): ErrorRow[] =>
  cases
    .flatMap((byCode) => Object.entries(byCode))
    .flatMap(([code, rows]) => rows.map(([when, ask, details]) => ({ operation, code, when, ask, ...details })));
/** The number of partitions of a local stack's log. */
const PARTITIONS = 12;

const at = (...pointers: string[]): Details => ({ pointers });
const retryAfter = { 'retry-after': /^[1-9][0-9]*$/ };

/** A request of the n-th client address, after the same request has spent its limit. */
function spent(n: number, asked: Asked): Cases[string][number] {
  const client = `203.0.113.${n}`;
  const spend: Ask = async ({ send }) => {
    await Promise.all(Array.from({ length: limits.clientRequests }, () => send(asked, client)));
    return asked;
  };
  return ['the limit of the client address is spent', spend, { client, headers: { ...retryAfter, ratelimit: /r=0/ } }];
}

type Content = (body: string | Uint8Array, headers?: Record<string, string>) => Asked;
const contentTo =
  (method: string, target: string): Content =>
  (body, headers = json) => ({ method, target, headers, body });

/** The refusals of each operation with a body. @param wrong JSON of another type than its body has */
const bodyCases = (n: number, content: Content, wrong: '[]' | '{}'): Cases => ({
  invalid_request: [
    ['the body is no JSON', () => content('{')],
    ['the body is another type of JSON', () => content(wrong), at('')],
  ],
  rate_limited: [spent(n, content(wrong))],
  payload_too_large: [['the body is one byte too large', () => content(' '.repeat(BODY_BYTES_MAX + 1))]],
  unsupported_media_type: [
    ['the body is text', () => content('{}', { 'Content-Type': 'text/plain' })],
    ['the body is packed', () => content('{}', { ...json, 'Content-Encoding': 'gzip' })],
  ],
});

const post = contentTo('POST', ORDERS_PATH);

/** A good item, followed by one that is changed after it was signed. */
const spoilt =
  (change: (item: Item) => unknown): Ask =>
  ({ make, makers }) => {
    const [good, other] = [make.order(makers.maker), make.order(makers.maker)].map(({ order, signature }) => ({
      order: { ...order },
      signature,
    }));
    return post(JSON.stringify([good, change(other as Item)]));
  };
const withOrder = (change: Record<string, unknown>) =>
  spoilt((item) => ({ ...item, order: { ...item.order, ...change } }));
const wrongAt = (pointer: string): Details => ({ index: 1, pointers: [`/1${pointer}`] });

/** A good item, followed by one with other terms and a valid signature of those. */
const signedWith =
  (change: (order: OrderTerms, makers: Makers) => Partial<OrderTerms>, of: keyof Makers = 'maker'): Ask =>
  ({ make, makers }) => {
    const good = make.order(makers.maker);
    return make.post([good, make.order(makers[of], change(good.order, makers))]);
  };

/** Many orders of one maker. */
const many =
  (count: number, of: keyof Makers = 'maker') =>
  ({ make, makers }: Bed) =>
    make.post(Array.from({ length: count }, () => make.order(makers[of])));

/** A good order, with this header. */
const withHeader =
  (name: 'Valid-Until' | 'Valid-Until-Ms', value: () => number | string): Ask =>
  ({ make, makers }) => {
    const asked = make.post([make.order(makers.maker)]);
    return { ...asked, headers: { ...asked.headers, [name]: String(value()) } };
  };

async function placed({ make, send }: Bed, maker: BaseWallet, change?: Partial<OrderTerms>): Promise<SignedItem> {
  const item = make.order(maker, change);
  const answer = await send(make.post([item]));
  if (answer.status !== 200) throw new Error(`not placed: ${answer.body}`);
  return item;
}

const placing = rowsOf('placeOrders', bodyCases(1, post, '{}'), {
  invalid_request: [
    ['there is no body', () => ({ method: 'POST', target: ORDERS_PATH, headers: json })],
    ['the body is UTF-16', () => post(Buffer.from('\ufeff[]', 'utf16le'))],
    ['the array is empty', () => post('[]'), at('')],
    ['an item is null', spoilt(() => null), wrongAt('')],
    ['a field is unknown', withOrder({ 'a/b~c': 1 }), wrongAt('/order/a~1b~0c')],
    ['a quantity is decimal', withOrder({ expiresAt: '4000000000' }), wrongAt('/order/expiresAt')],
    ['an address has 19 bytes', withOrder({ maker: `0x${'0'.repeat(38)}` }), wrongAt('/order/maker')],
    ['a signature has half a byte', spoilt((item) => ({ ...item, signature: '0x1' })), wrongAt('/signature')],
    [
      'two places are wrong',
      withOrder({ salt: 1, nonce: 1 }),
      { index: 1, pointers: ['/1/order/salt', '/1/order/nonce'] },
    ],
    ['a token is sold for itself', signedWith(({ making }) => ({ taking: making })), wrongAt('/order/taking/token')],
    ...[`0x${'0'.repeat(40)}`, `0x${'Ee'.repeat(20)}`].map((token): Cases[string][number] => [
      `the taking token is the native coin as ${token}`,
      signedWith(({ taking }) => ({ taking: { ...taking, token } })),
      wrongAt('/order/taking/token'),
    ]),
    [
      'an object has 33 members',
      () => post(JSON.stringify([Object.fromEntries(Array.from({ length: 33 }, (_, n) => [`k${n}`, 0]))])),
    ],
    ['the body holds 10,001 values', () => post(`[${'0,'.repeat(9_999)}0]`)],
    ['Valid-Until is no number of seconds', withHeader('Valid-Until', () => 'soon')],
    ['Valid-Until-Ms is no number', withHeader('Valid-Until-Ms', () => '1.5'), at('/Valid-Until-Ms')],
  ],
  valid_until_passed: [
    ['Valid-Until has passed', withHeader('Valid-Until', () => nowSeconds() - 1)],
    ['Valid-Until-Ms has passed', withHeader('Valid-Until-Ms', () => Date.now() - 1)],
  ],
  too_many_orders: [
    ['there are more than allowed', many(limits.ordersPerPost + 1), { index: limits.ordersPerPost }],
    ['there are more than the full budget holds', many(limits.burst + 1), { index: limits.burst }],
    ['more would be open than a maker may have', many(limits.openOrders + 1), { index: limits.openOrders }],
  ],
  unsupported_permitted_taker: [
    [
      'an order is for one taker',
      signedWith((_, { stranger }) => ({ permittedTaker: stranger.address })),
      wrongAt('/order/permittedTaker'),
    ],
  ],
  invalid_signature: [
    [
      'somebody else has signed',
      ({ make, makers }) => {
        const [good, item] = [make.order(makers.maker), make.order(makers.maker)];
        return make.post([good, { ...item, signature: make.sign.signOrder(makers.stranger, item.order) }]);
      },
      { index: 1 },
    ],
    [
      'the contract of the maker does not accept what somebody else has signed',
      ({ make, makers }) => {
        const [good, item] = [make.order(makers.maker), make.order(makers.contract)];
        return make.post([good, { ...item, signature: make.sign.signOrder(makers.stranger, item.order) }]);
      },
      wrongAt('/signature'),
    ],
  ],
  maker_not_whitelisted: [
    ['the maker is unknown', signedWith(() => ({}), 'stranger'), wrongAt('/order/maker')],
    ['the maker was removed', signedWith(() => ({}), 'removed'), wrongAt('/order/maker')],
  ],
  rate_limited: [
    [
      'the budget of the maker is spent',
      async (bed) => {
        const ask = many(limits.burst, 'spender')(bed);
        const { status, body } = await bed.send(many(limits.openOrders, 'spender')(bed));
        if (status !== 200) throw new Error(`not placed: ${body}`);
        return ask;
      },
      { index: 'some', headers: { ...retryAfter, ratelimit: /"orders"/ } },
    ],
  ],
  order_expired: [
    ['an order expires now', signedWith(() => ({ expiresAt: toBeHex(nowSeconds()) })), wrongAt('/order/expiresAt')],
  ],
  order_cancelled: [
    [
      'the nonce of the chain is higher',
      ({ make, makers }) => make.post([make.order(makers.canceller)]),
      { index: 0, pointers: ['/0/order/nonce'] },
    ],
  ],
  duplicate: [
    [
      'an order is stored already, written otherwise',
      async (bed) => {
        const { order, signature } = await placed(bed, bed.makers.maker);
        const same = { ...order, nonce: `0x${'0'.repeat(64)}`, salt: `0x${order.salt.slice(2).toUpperCase()}` };
        return bed.make.post([bed.make.order(bed.makers.maker), { order: same, signature }]);
      },
      { index: 1 },
    ],
    [
      'an order was cancelled',
      async (bed) => {
        const item = await placed(bed, bed.makers.maker);
        await bed.send(bed.make.cancel([item], bed.makers.maker));
        return bed.make.post([item]);
      },
      { index: 0 },
    ],
  ],
  unsupported_media_type: [['there is no Content-Type', () => post('[]', {})]],
});

/** The request with other parameters; undefined leaves one out. */
function withParameters(asked: Asked, change: Readonly<Record<string, string | undefined>>): Asked {
  const [path, query] = asked.target.split('?');
  const given = { ...Object.fromEntries(new URLSearchParams(query)), ...change };
  const kept = Object.entries(given).filter((pair): pair is [string, string] => pair[1] !== undefined);
  return { ...asked, target: `${path}?${new URLSearchParams(kept)}` };
}

const someHash = toBeHex(1, 32);
type Read = (bed: Bed, maker?: BaseWallet, issuedAt?: number) => Asked;
const reads: Record<'listOrders' | 'readAccount' | 'findOrder' | 'readHistory' | 'streamOrders', Read> = {
  listOrders: ({ make, makers }, maker = makers.maker, issuedAt) => make.list(maker, issuedAt),
  findOrder: ({ make, makers }, maker = makers.maker, issuedAt) => make.find(maker, someHash, issuedAt),
  readAccount: ({ make, makers }, maker = makers.maker, issuedAt) => make.account(maker, issuedAt),
  readHistory: ({ make, makers }, maker = makers.maker, issuedAt) => make.history(maker, issuedAt),
  streamOrders: ({ make, makers }, maker = makers.maker, issuedAt) => make.stream(maker, issuedAt),
};

/** The refusals of each operation that needs a signed read. @param path answers the n-th client address with 400 */
function readCases(n: number, path: string, read: Read, first: Partial<Asked> = {}): Cases {
  const signedAs =
    (signature: string): Ask =>
    (bed) =>
      withParameters(read(bed), { signature });
  const named =
    (of: keyof Makers): Ask =>
    (bed) =>
      withParameters(read(bed), { maker: bed.makers[of].address });
  return {
    invalid_request: [
      ['a parameter is unknown', (bed) => withParameters(read(bed), { cursr: '1' }), at('/cursr')],
      ['the maker is no address', (bed) => withParameters(read(bed), { maker: '0x1' }), at('/maker')],
    ],
    request_expired: [
      ['it was issued too long ago', (bed) => read(bed, bed.makers.maker, nowSeconds() - 40)],
      ['it was issued in the future', (bed) => read(bed, bed.makers.maker, nowSeconds() + 60)],
    ],
    invalid_signature: [
      ['the signature has 66 bytes', signedAs(`0x${'11'.repeat(66)}`)],
      ['no key can have made the signature', signedAs(`0x${'ff'.repeat(64)}1b`)],
      ['another maker is named', named('keeper')],
      ['the contract of the maker that is named does not accept it', named('contract')],
    ],
    maker_not_whitelisted: [
      ['the signer is unknown', (bed) => read(bed, bed.makers.stranger)],
      ['the maker that is named is unknown', named('stranger')],
    ],
    request_replayed: [
      [
        'the same request was answered before',
        async (bed) => {
          const asked = read(bed);
          await bed.send({ ...asked, ...first });
          return asked;
        },
      ],
    ],
    rate_limited: [spent(n, { method: 'GET', target: path })],
  };
}
const readWith =
  (read: Read, change: Readonly<Record<string, string | undefined>>): Ask =>
  (bed) =>
    withParameters(read(bed), change);

/** A cursor of another log. Its partition is the maker's, or the one this many after it. */
const cursorOf = ({ makers }: Bed, next = 0) =>
  `${(partitionOf(makers.maker.address.toLowerCase(), PARTITIONS) + next) % PARTITIONS}:0badf00d:1`;
const ofNextPartition =
  (read: Read): Ask =>
  (bed) =>
    withParameters(read(bed), { cursor: cursorOf(bed, 1) });
const ofAnotherLog =
  (read: Read): Ask =>
  (bed) =>
    withParameters(read(bed), { cursor: cursorOf(bed) });

const listing = rowsOf('listOrders', readCases(2, ORDERS_PATH, reads.listOrders), {
  invalid_request: [
    ['no parameters are given', () => ({ method: 'GET', target: ORDERS_PATH }), at('/issuedAt', '/salt', '/signature')],
    ['salt has 33 bytes', readWith(reads.listOrders, { salt: `0x${'0'.repeat(66)}` }), at('/salt')],
    ['the salt of orders is no number', readWith(reads.listOrders, { orderSalt: '7' }), at('/orderSalt')],
    ['a token is no address', readWith(reads.listOrders, { making: '0x12' }), at('/making')],
    ['a status is unknown', readWith(reads.listOrders, { status: 'OPEN' }), { index: 0, pointers: ['/status/0'] }],
    ['salt is an array', readWith(reads.listOrders, { salt: undefined, 'salt[]': '0x1' }), at('/salt', '/salt[]')],
    ['the cursor is of an earlier version', readWith(reads.listOrders, { cursor: '7' }), at('/cursor')],
    ['the cursor is of another partition', ofNextPartition(reads.listOrders), at('/cursor')],
  ],
  gone: [['the cursor is of another log', ofAnotherLog(reads.listOrders)]],
  rate_limited: [
    [
      'the budget of the maker is spent',
      async (bed) => {
        // The budget refills all the time, so send more lists at once than it holds.
        const lists = Array.from({ length: 3 * limits.listBurst }, () => bed.make.list(bed.makers.keeper));
        const answers = await Promise.all(lists.map((list) => bed.send(list)));
        return answers.find(({ status }) => status !== 200) ?? reads.listOrders(bed);
      },
      { headers: { ...retryAfter, ratelimit: /"lists"/ } },
    ],
  ],
  payload_too_large: [['the query is too large', readWith(reads.listOrders, { padding: 'x'.repeat(70_000) })]],
});

const finding = rowsOf('findOrder', readCases(12, `${ORDERS_PATH}/${someHash}`, reads.findOrder), {
  invalid_request: [
    [
      'the path has no hash',
      (bed) => {
        const asked = reads.findOrder(bed);
        return { ...asked, target: asked.target.replace(someHash, '0x12') };
      },
      at('/orderHash'),
    ],
  ],
  maker_not_whitelisted: [
    [
      'another hash was signed',
      (bed) => {
        const asked = reads.findOrder(bed);
        return { ...asked, target: asked.target.replace(someHash, toBeHex(2, 32)) };
      },
    ],
  ],
  not_found: [
    ['nobody has placed the hash', (bed) => reads.findOrder(bed)],
    [
      'the order is of another maker',
      async (bed) => bed.make.find(bed.makers.maker, (await placed(bed, bed.makers.keeper)).orderHash),
    ],
  ],
});

const account = rowsOf('readAccount', readCases(50, `${ORDERS_PATH}/account`, reads.readAccount));

const history = rowsOf('readHistory', readCases(13, `${ORDERS_PATH}/history`, reads.readHistory), {
  invalid_request: [
    ['the limit is too high', readWith(reads.readHistory, { limit: '101' }), at('/limit')],
    [
      'a kind is unknown',
      readWith(reads.readHistory, { happened: 'FILLED,LOST' }),
      { index: 1, pointers: ['/happened/1'] },
    ],
    ['the cursor is malformed', readWith(reads.readHistory, { cursor: '7:-:0x12' }), at('/cursor')],
    ['the cursor is of an earlier version', readWith(reads.readHistory, { cursor: '1380' }), at('/cursor')],
    ['the salt of orders is no number', readWith(reads.readHistory, { orderSalt: '7' }), at('/orderSalt')],
    ['the cursor is of another partition', ofNextPartition(reads.readHistory), at('/cursor')],
  ],
  gone: [['the cursor is of another log', ofAnotherLog(reads.readHistory)]],
});

// A HEAD begins no stream.
const streamCases = readCases(14, `${ORDERS_PATH}/stream`, reads.streamOrders, { method: 'HEAD' });
const streaming = rowsOf('streamOrders', streamCases, {
  invalid_request: [
    [
      'the last event is none',
      (bed) => ({ ...reads.streamOrders(bed), headers: { 'Last-Event-ID': 'x' } }),
      at('/Last-Event-ID'),
    ],
    ['the cursor is of another partition', ofNextPartition(reads.streamOrders), at('/cursor')],
  ],
  gone: [
    [
      'the last event is of another log',
      (bed) => ({ ...reads.streamOrders(bed), headers: { 'Last-Event-ID': cursorOf(bed) } }),
    ],
  ],
});

const hash = (n: number) => toBeHex(n, 32);
const someSignature = `0x${'11'.repeat(64)}1b`;
const pairs = (count: number) => Array.from({ length: count }, (_, n) => [hash(n + 1), someSignature] as const);
/** Cancels two orders. A stranger signs for the second. */
const cancelledByStranger = async (bed: Bed, of: keyof Makers = 'keeper'): Promise<Asked> => {
  const { make, makers } = bed;
  const [first, second] = [await placed(bed, makers.keeper), await placed(bed, makers[of])];
  const signed = ({ orderHash, order }: SignedItem, by: BaseWallet) =>
    [orderHash, make.sign.signCancellation(by, orderHash, order.salt)] as const;
  return cancelling([signed(first, makers.keeper), signed(second, makers.stranger)]);
};
const cutSignature = async (bed: Bed): Promise<Asked> =>
  cancelling([...pairs(1), [(await placed(bed, bed.makers.keeper)).orderHash, '0x11']]);
const secondSignature: Details = { index: 1, pointers: ['/signatures/1'] };

const cancellingByQuery = rowsOf('cancelOrders', {
  invalid_request: [
    ['there are no parameters', () => ({ method: 'DELETE', target: ORDERS_PATH }), at('/orderHashes', '/signatures')],
    ['there is no signature', () => cancelling([[hash(1), '']]), at('/signatures')],
    ['the hashes are given twice', () => cancelling(pairs(1), `&orderHashes=${hash(2)}`), at('/orderHashes')],
    [
      'there are more hashes than signatures',
      () => withParameters(cancelling(pairs(2)), { signatures: someSignature }),
      at('/signatures'),
    ],
    [
      'there are more hashes than allowed',
      () => cancelling(pairs(limits.cancelsPerDelete + 1)),
      at('/orderHashes', '/signatures'),
    ],
    ['the salt is no quantity', () => cancelling(pairs(1), '&salt=1'), at('/salt')],
    ['the expiry is decimal', () => cancelling(pairs(1), '&expiresAt=4000000000'), at('/expiresAt')],
    ['the salt is given twice', () => cancelling(pairs(1), '&salt=0x1&salt=0x1'), at('/salt')],
  ],
  invalid_signature: [
    ['somebody else has signed', (bed) => cancelledByStranger(bed), secondSignature],
    ['the contract of the maker does not accept it', (bed) => cancelledByStranger(bed, 'contract'), secondSignature],
    ['a signature is cut', cutSignature, secondSignature],
  ],
  rate_limited: [spent(3, { method: 'DELETE', target: ORDERS_PATH })],
  payload_too_large: [['the query is too large', () => cancelling(pairs(400))]],
});

const cancellations = contentTo('POST', CANCELLATIONS_PATH);
const someItem = { orderHash: hash(1), signature: someSignature };
/** A good item, followed by one that is changed. */
const withItem =
  (change: Record<string, unknown>): Ask =>
  () =>
    cancellations(JSON.stringify([someItem, { ...someItem, ...change }]));
const withQuery =
  (query: string): Ask =>
  () =>
    contentTo('POST', `${CANCELLATIONS_PATH}?${query}`)(JSON.stringify([someItem]));

const withSalts =
  (change: object, of: keyof Makers = 'maker', by = of) =>
  ({ make, makers }: Bed): Asked => {
    const body = bySalts(make, [make.order(makers[of])], makers[of], makers[by]);
    return cancellations(JSON.stringify({ ...body, ...change }));
  };

const cancellingByPost = rowsOf('cancelOrdersByPost', bodyCases(5, cancellations, '{}'), {
  invalid_request: [
    ['the array is empty', () => cancellations('[]'), at('')],
    ['a hash has 31 bytes', withItem({ orderHash: '0x11' }), wrongAt('/orderHash')],
    ['a field is unknown', withItem({ hash: '0x1' }), wrongAt('/hash')],
    [
      'what is left of an order is named',
      withItem({ remainingMakingAmount: '0x1' }),
      wrongAt('/remainingMakingAmount'),
    ],
    ['the expiry of an item is decimal', withItem({ expiresAt: '4000000000' }), wrongAt('/expiresAt')],
    ['the salt of an item is no quantity', withItem({ salt: '1' }), wrongAt('/salt')],
    [
      'there are more items than allowed',
      () => cancellations(JSON.stringify(Array(limits.cancelsPerDelete + 1).fill(someItem))),
    ],
    ['the salt is no quantity', withQuery('salt=1'), at('/salt')],
    ['a parameter of DELETE is given', withQuery('signatures=0x'), at('/signatures')],
    ['no salt is named', withSalts({ salts: [] }), at('/salts')],
    ['a salt is no quantity', withSalts({ salts: ['7'] }), { index: 0, pointers: ['/salts/0'] }],
    [
      'there are more salts than allowed',
      withSalts({ salts: Array(limits.cancelsPerDelete + 1).fill('0x7') }),
      at('/salts'),
    ],
    ['the salts are of long ago', withSalts({ untilMs: 7 }), at('/untilMs')],
    [
      'a salt for all is given, and salts',
      (bed) => ({ ...withSalts({})(bed), target: `${CANCELLATIONS_PATH}?salt=0x1` }),
      at('/salt'),
    ],
  ],
  maker_not_whitelisted: [['the maker of salts was never on the whitelist', withSalts({}, 'stranger'), at('/maker')]],
  invalid_signature: [
    ['a stranger has signed for salts', withSalts({}, 'maker', 'stranger'), at('/signature')],
    ['somebody else has signed', async (bed) => asCancellations(await cancelledByStranger(bed)), wrongAt('/signature')],
    ['a signature is cut', async (bed) => asCancellations(await cutSignature(bed)), wrongAt('/signature')],
  ],
});

const replacements = contentTo('POST', `${ORDERS_PATH}/replacements`);
const replaceWith =
  (change: Readonly<Record<string, unknown>>) =>
  ({ make, makers }: Bed): Asked => {
    const { body } = make.replace([make.order(makers.maker)], [make.order(makers.maker)], makers.maker);
    return replacements(JSON.stringify({ ...JSON.parse(String(body)), ...change }));
  };
/** Replaces an open order of the maker by one with other terms. */
const inPlaceOfOpen =
  (change: () => Partial<OrderTerms>, of: keyof Makers = 'maker', gone: Partial<OrderTerms> = {}): Ask =>
  async (bed) => {
    const maker = bed.makers[of];
    return bed.make.replace([await placed(bed, maker, gone)], [bed.make.order(maker, change())], maker);
  };
/** The refusals that POST gives before it looks at open orders. */
const inStead = placing
  .filter(({ when }) =>
    [
      'a field is unknown',
      'there are more than allowed',
      'an order is for one taker',
      'somebody else has signed',
      'Valid-Until has passed',
    ].includes(when),
  )
  .map(
    ({ ask, pointers, ...row }): ErrorRow => ({
      ...row,
      operation: 'replaceOrders',
      async ask(bed) {
        const asked = await ask(bed);
        if ('status' in asked) throw new Error('the row has its answer already');
        const { target, body } = replaceWith({ place: JSON.parse(String(asked.body)) })(bed);
        return { ...asked, target, body: String(body) };
      },
      ...(pointers && { pointers: pointers.map((pointer) => `/place${pointer}`) }),
    }),
  );

const replacing = [
  ...rowsOf('replaceOrders', bodyCases(15, replacements, '[]'), {
    invalid_request: [
      ['nothing is to be cancelled', replaceWith({ cancel: [] }), at('/cancel')],
      ['nothing is to be placed', replaceWith({ place: undefined }), at('/place')],
      [
        'what is left of an order is no quantity',
        replaceWith({ cancel: [{ ...someItem, remainingMakingAmount: '100' }] }),
        { index: 0, pointers: ['/cancel/0/remainingMakingAmount'] },
      ],
      ['a third list is given', replaceWith({ more: [] }), at('/more')],
      [
        'the salts are none',
        replaceWith({ cancel: { salts: '0x7' } }),
        at('/cancel/maker', '/cancel/salts', '/cancel/untilMs', '/cancel/signature'),
      ],
      [
        'the salts are of another maker',
        (bed) =>
          replaceWith({ cancel: bySalts(bed.make, [bed.make.order(bed.makers.keeper)], bed.makers.keeper) })(bed),
        at('/cancel/maker'),
      ],
      [
        'the new order takes the native coin',
        ({ make, makers: { maker } }) => {
          const taking = { token: ZeroAddress, amount: '0x1' };
          return make.replace([make.order(maker)], [make.order(maker, { taking })], maker);
        },
        { index: 0, pointers: ['/place/0/order/taking/token'] },
      ],
    ],
    maker_not_whitelisted: [
      [
        'the maker is unknown',
        ({ make, makers }) => make.replace([make.order(makers.maker)], [make.order(makers.stranger)], makers.maker),
        { index: 0, pointers: ['/place/0/order/maker'] },
      ],
    ],
    order_expired: [
      [
        'the new order expires now',
        inPlaceOfOpen(() => ({ expiresAt: toBeHex(nowSeconds()) })),
        { index: 0, pointers: ['/place/0/order/expiresAt'] },
      ],
    ],
    order_cancelled: [
      [
        'the nonce of the chain is higher than that of the new order',
        inPlaceOfOpen(() => ({}), 'canceller', { nonce: '0x1' }),
        { index: 0, pointers: ['/place/0/order/nonce'] },
      ],
    ],
    duplicate: [
      [
        'the new order is stored already',
        async (bed) => {
          const { maker } = bed.makers;
          return bed.make.replace([await placed(bed, maker)], [await placed(bed, maker)], maker);
        },
        { index: 0, pointers: ['/place/0'] },
      ],
    ],
    not_found: [
      [
        'the order that is to go is not open',
        ({ make, makers: { maker } }) => make.replace([make.order(maker)], [make.order(maker)], maker),
        { index: 0, pointers: ['/cancel/0/orderHash'] },
      ],
      [
        'no open order has a salt',
        (bed) => replaceWith({ cancel: bySalts(bed.make, [bed.make.order(bed.makers.maker)], bed.makers.maker) })(bed),
        at('/cancel/salts'),
      ],
      [
        'the order that is to go is of another maker',
        async (bed) => {
          const { maker, keeper } = bed.makers;
          return bed.make.replace([await placed(bed, keeper)], [bed.make.order(maker)], keeper);
        },
        { index: 0, pointers: ['/cancel/0/orderHash'] },
      ],
    ],
  }),
  ...inStead,
];

const exits = [
  ['cancelAllOrders', 'cancel-all', 'untilMs'],
  ['setSwitch', 'heartbeat', 'issuedAtMs'],
  ['nameCancelKeys', 'cancel-keys', 'issuedAtMs'],
  ['setFillCap', 'fill-cap', 'issuedAtMs'],
] as const satisfies readonly (readonly [OperationId, ExitKind, string])[];

/** Instructions for all of a maker's orders, from a maker that has none. */
const exitRows = exits.flatMap(([operation, kind, time], n): ErrorRow[] => {
  const saying =
    (more: object, of: keyof Makers = 'canceller', by = of): Ask =>
    ({ make, makers }) =>
      make.exit(kind, makers[of], more, makers[by]);
  return rowsOf(operation, bodyCases(20 + n, contentTo('POST', `${ORDERS_PATH}/${kind}`), '[]'), {
    invalid_request: [
      ['a field is unknown', saying({ more: 1 }), at('/more')],
      ['the maker is no address', saying({ maker: '0x1' }), at('/maker')],
      ['the time is far ahead', saying({ [time]: Date.now() + 36_000_000 }), at(`/${time}`)],
      ['the time is long ago', saying({ [time]: 7 }), at(`/${time}`)],
    ],
    invalid_signature: [
      ['a stranger has signed', saying({}, 'canceller', 'stranger'), at('/signature')],
      ['the contract of the maker does not accept it', saying({}, 'contract', 'stranger'), at('/signature')],
      ['another time was signed', (bed) => saying({ [time]: Date.now() - 1_000 })(bed), at('/signature')],
      ['it is none', saying({ signature: '0x12' }), at('/signature')],
    ],
    maker_not_whitelisted: [['the maker was never on the whitelist', saying({}, 'stranger'), at('/maker')]],
  });
});

const capping =
  (token: string): Ask =>
  ({ make, makers }) =>
    make.exit('fill-cap', makers.canceller, {}, makers.canceller, Date.now(), { token });
const capRows = rowsOf('setFillCap', {
  invalid_request: [
    ['the token is the native coin', capping(ZeroAddress), at('/token')],
    ['the token has no code', capping(`0x${'7a'.repeat(20)}`), at('/token')],
  ],
});

/** Standing instructions: the newest one counts. */
const supersededRows = exits.slice(1).flatMap(([operation, kind]): ErrorRow[] =>
  rowsOf(operation, {
    superseded: [
      [
        'a newer one counts',
        async ({ make, makers, send }) => {
          await send(make.exit(kind, makers.canceller));
          return make.exit(kind, makers.canceller, {}, makers.canceller, Date.now() - 10_000);
        },
        { saysWhatCounts: true },
      ],
    ],
  }),
);

/** Operations that are read without a signature. */
const documents = {
  describeService: `${ORDERS_PATH}/info`,
  readOpenApi: '/openapi.json',
  readAsyncApi: '/asyncapi.json',
  readDocs: '/docs',
} as const;
const read = (target: string) => (): Asked => ({ method: 'GET', target });
const reading = Object.entries(documents).flatMap(([operation, target], n) =>
  rowsOf(operation as keyof typeof documents, { rate_limited: [spent(6 + n, read(target)())] }),
);

/** The operations that read the book. */
const [sold, paid] = [`0x${'1a'.repeat(20)}`, `0x${'2b'.repeat(20)}`];
const quotePath = `/v0alpha/book/quote?tokenIn=${paid}&tokenOut=${sold}`;
const book = {
  readSnapshot: '/v0alpha/book/snapshot',
  streamBook: `/v0alpha/book/stream?after=${new Array(PARTITIONS).fill('-').join(',')}:-`,
  listFills: '/v0alpha/book/fills',
  streamFills: '/v0alpha/book/fills/stream',
  listPairs: '/v0alpha/book/pairs',
  showLadder: `/v0alpha/book/${sold}-${paid}`,
  quoteAmount: `${quotePath}&amountIn=1`,
} as const;
const withMore = (target: string) => read(`${target}${target.includes('?') ? '&' : '?'}more=1`);
const ofBook = Object.entries(book).flatMap(([operation, target], n) =>
  rowsOf(operation as keyof typeof book, {
    invalid_request: [['a parameter is unknown', withMore(target), at('/more')]],
    // Spend the limit on refusals: they cost as much, and begin no stream.
    rate_limited: [spent(40 + n, withMore(target)())],
  }),
);
const bookRows = [
  ...ofBook,
  ...rowsOf('streamBook', {
    invalid_request: [
      ['there is no cursor', read('/v0alpha/book/stream'), at('/after')],
      ['the cursor is of fewer partitions', read('/v0alpha/book/stream?after=-,-:-'), at('/after')],
      ['the cursor names no log', read('/v0alpha/book/stream?after=1:0,2:0'), at('/after')],
      [
        'the last event is none',
        () => ({ method: 'GET', target: book.streamBook, headers: { 'Last-Event-ID': 'x' } }),
        at('/Last-Event-ID'),
      ],
    ],
  }),
  ...rowsOf('listFills', {
    invalid_request: [
      ['a token is no address', read(`${book.listFills}?making=0x12`), at('/making')],
      ['the limit is too high', read(`${book.listFills}?limit=1001`), at('/limit')],
      ['the cursor is none', read(`${book.listFills}?cursor=12`), at('/cursor')],
    ],
  }),
  ...rowsOf('streamFills', {
    invalid_request: [
      ['the cursor is of fewer partitions', read(`${book.streamFills}?after=-,-:-`), at('/after')],
      [
        'the last event is none',
        () => ({ method: 'GET', target: book.streamFills, headers: { 'Last-Event-ID': 'x' } }),
        at('/Last-Event-ID'),
      ],
    ],
  }),
  ...rowsOf('listPairs', {
    invalid_request: [
      ['a pair is none', read(`${book.listPairs}?pairs=${sold}`), { index: 0, pointers: ['/pairs/0'] }],
      [
        'there are more pairs than allowed',
        read(`${book.listPairs}?pairs=${Array(51).fill(`${sold}-${paid}`)}`),
        at('/pairs'),
      ],
      ['levels of no pair are asked for', read(`${book.listPairs}?limit=1`), at('/limit')],
    ],
  }),
  ...rowsOf('showLadder', {
    invalid_request: [
      ['a token is no address', read(`/v0alpha/book/${sold}-0x12`), at('/taking')],
      ['the limit is too high', read(`${book.showLadder}?limit=201`), at('/limit')],
    ],
  }),
  ...rowsOf('quoteAmount', {
    invalid_request: [
      ['no amount is given', read(quotePath), at('/amountIn')],
      ['both amounts are given', read(`${book.quoteAmount}&amountOut=1`), at('/amountIn')],
      ['the amount is zero', read(`${quotePath}&amountOut=0x0`), at('/amountOut')],
      ['the amount is no number', read(`${quotePath}&amountOut=1.5`), at('/amountOut')],
      ['there are more backups than allowed', read(`${book.quoteAmount}&backups=301`), at('/backups')],
    ],
  }),
];

/** A request of each operation that gets a 200, or would get one if its orders existed. */
export const goodRequests: Readonly<Record<OperationId, (bed: Bed) => Asked>> = {
  ...reads,
  placeOrders: ({ make, makers }) => make.post([make.order(makers.maker)]),
  cancelOrders: ({ make, makers }) => make.cancel([make.order(makers.maker)], makers.maker),
  cancelOrdersByPost: () => cancellations(JSON.stringify([someItem])),
  replaceOrders: replaceWith({}),
  cancelAllOrders: ({ make, makers }) => make.exit('cancel-all', makers.canceller),
  setSwitch: ({ make, makers }) => make.exit('heartbeat', makers.canceller),
  nameCancelKeys: ({ make, makers }) => make.exit('cancel-keys', makers.canceller),
  setFillCap: ({ make, makers }) => make.exit('fill-cap', makers.canceller),
  patchQuote: ({ make }) => make.patch(make.quote(), '2'),
  describeService: read(documents.describeService),
  readOpenApi: read(documents.readOpenApi),
  readAsyncApi: read(documents.readAsyncApi),
  readDocs: read(documents.readDocs),
  readSnapshot: read(book.readSnapshot),
  streamBook: read(book.streamBook),
  listFills: read(book.listFills),
  streamFills: read(book.streamFills),
  listPairs: read(book.listPairs),
  showLadder: read(book.showLadder),
  quoteAmount: read(book.quoteAmount),
};

const patching = rowsOf('patchQuote', bodyCases(4, contentTo('PATCH', QUOTE_PATH), '[]'), {
  invalid_request: [
    ['the amount is 2^256', ({ make }) => make.patch(make.quote(), `${2n ** 256n}`), at('/minOutput/amount')],
  ],
  no_changes: [['the minimum is the same', ({ make }) => make.patch(make.quote({ minOutput: 7n }), '0x07')]],
  invalid_date: [
    ['the deadline has passed', ({ make }) => make.patch(make.quote({ deadline: 1n }), '2'), at('/data')],
    ['bytes are behind the call', ({ make }) => make.patch(`${make.quote()}00`, '2'), at('/data')],
  ],
  invalid_signature: [
    [
      'no quote signer has signed',
      ({ make, makers }) => make.patch(make.quote({ key: makers.stranger.privateKey as Hex }), '2'),
      at('/data'),
    ],
  ],
  field_not_exists: [['the call has no minimum', ({ make }) => make.patch(make.quote({ minOutput: undefined }), '2')]],
});

const to =
  (method: string, target: string): Ask =>
  () => ({ method, target });
const allowing = (...methods: string[]): Details => ({
  headers: { allow: new RegExp(methods.map((method) => `(?=.*\\b${method}\\b)`).join('')) },
});
const ofOrders = allowing('GET', 'HEAD', 'POST', 'DELETE', 'OPTIONS');

const roads = rowsOf('any', {
  invalid_request: [['it is no HTTP', () => ({ method: 'GET', target: '/', headers: { 'Content-Length': 'x' } })]],
  payload_too_large: [
    ['the headers are too large', () => ({ method: 'GET', target: '/', headers: { 'X-Large': 'x'.repeat(70_000) } })],
  ],
  unsupported_media_type: [
    [
      'a body is packed that nobody needs',
      () => ({ method: 'GET', target: ORDERS_PATH, headers: { 'Content-Encoding': 'gzip' }, body: '[]' }),
    ],
  ],
  not_found: [
    ['the path is two slashes', to('GET', '//')],
    ['the path ends with a slash', to('GET', `${ORDERS_PATH}/`)],
    ['the path of a POST ends with a slash', to('POST', `${ORDERS_PATH}/`)],
    ['the path is in capitals', to('GET', ORDERS_PATH.toUpperCase())],
    ['the path goes on', to('DELETE', `${ORDERS_PATH}/${ZeroAddress}/more`)],
    ['the path is another version', to('GET', '/v1/limit-orders')],
    ['the metrics are asked for', to('GET', '/metrics')],
  ],
  method_not_allowed: [
    ['the root is posted to', to('POST', '/'), allowing('GET')],
    ['PUT of orders', to('PUT', ORDERS_PATH), ofOrders],
    ['PATCH of orders', to('PATCH', ORDERS_PATH), ofOrders],
    ['GET of cancellations', to('GET', CANCELLATIONS_PATH), allowing('POST', 'OPTIONS')],
    ['GET of a quote', to('GET', QUOTE_PATH), allowing('PATCH', 'OPTIONS')],
    ['POST of a quote', to('POST', QUOTE_PATH), allowing('PATCH', 'OPTIONS')],
  ],
});

/** Each refusal of each operation. */
export const errorRows: readonly ErrorRow[] = [
  ...placing,
  ...listing,
  ...finding,
  ...account,
  ...history,
  ...streaming,
  ...cancellingByQuery,
  ...cancellingByPost,
  ...replacing,
  ...exitRows,
  ...supersededRows,
  ...capRows,
  ...reading,
  ...bookRows,
  ...patching,
  ...roads,
];

const ofRequests = 'services/ingress/src/cancel-orders.test.ts';
const ofReads = 'test/src/end-to-end/test-reads.ts';

/** Refusals that another test proves, because a part has to break first or more than the answer is checked. */
export const provenElsewhere: Readonly<Record<string, readonly [file: string, title: string]>> = {
  remaining_changed: [
    'test/src/end-to-end/test-replacements.ts',
    'an order that is filled in part is replaced by a request that names what is left, and by no other',
  ],
  'too_many_orders of cancelOrders': [ofRequests, 'are refused if Postgres says %j, and nothing is cancelled'],
  'too_many_orders of cancelOrdersByPost': [ofRequests, 'are refused if Postgres says %j, and nothing is cancelled'],
  internal: ['shared/http/src/serve-api.live.test.ts', 'a bug is 500 without details of the error'],
  unauthorized: ['services/feed/src/feed.live.test.ts', 'only named readers may read if the operator names some'],
  'gone of streamBook': ['services/feed/src/feed.live.test.ts', 'start over if the records that it lacks are gone'],
  'gone of streamFills': [
    'services/feed/src/live-fills.test.ts',
    'a cursor is valid if a partition has no fills left, but not if it is ahead or of another log',
  ],
  'gone of findOrder': [ofReads, 'an order whose history is pruned is gone'],
  'rate_limited of any': ['shared/http/src/serve-api.live.test.ts', 'may have only so many connections at a time'],
  'request_timeout of any': ['test/src/abuse/test-hostile-requests.ts', 'slow heads and bodies are let go after 10 s'],
  unavailable: ['test/src/conformance/test-errors.ts', 'every operation is unavailable while its service is down'],
};
