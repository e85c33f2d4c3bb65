import type { Info } from './info.js';

/**
 * The documents show requests and answers with valid signatures for this domain, by the keys below. The keys are
 * public: put nothing of worth behind them.
 */
export const exampleDomain = {
  serviceName: 'Makerbook',
  chainId: 8217,
  limitOrderProtocol: '0x1000000000000000000000000000000000000001',
  navigator: '0x4000000000000000000000000000000000000004',
  orderFiller: '0x5000000000000000000000000000000000000005',
  receiptSigner: '0x3325a78425f17a7e487eb5666b2bfd93abb06c70',
} as const;

/** The key of the maker of the examples. */
export const EXAMPLE_MAKER_KEY = '0x0101010101010101010101010101010101010101010101010101010101010101';

/** The key of the quote signer of the examples. */
export const EXAMPLE_QUOTE_SIGNER_KEY = '0x0202020202020202020202020202020202020202020202020202020202020202';

/** The key of the receipt signer of the examples. */
export const EXAMPLE_RECEIPT_KEY = '0x0303030303030303030303030303030303030303030303030303030303030303';

const placement = {
  order: {
    salt: '0x7b1f',
    nonce: '0x0',
    expiresAt: '0xffffffff',
    making: {
      token: '0x2000000000000000000000000000000000000002',
      amount: '0x64',
    },
    taking: {
      token: '0x3000000000000000000000000000000000000003',
      amount: '0x32',
    },
    maker: '0x1a642f0e3c3af545e7acbd38b07251b3990914f1',
    permittedTaker: '0x0000000000000000000000000000000000000000',
  },
  signature:
    '0xecbb79eb7774521cb0c82ec4cc4942afd446b7b21c7b062a6e1cf4bf4f655b095ac456820bc9ea89729ff40e4c7263a261b85f4d591a89aeda9aad2f111bfffe1c',
};
const tokens: Info['tokens'] = [
  { address: '0x2000000000000000000000000000000000000002', symbol: 'USDT', decimals: 6 },
  { address: '0x3000000000000000000000000000000000000003', symbol: 'WETH', decimals: 18 },
];
const otherPlacement = {
  order: { ...placement.order, salt: '0x7b20', making: { ...placement.order.making, amount: '0x3e8' } },
  signature:
    '0x2bacdc3bdb6712b10a15bd1fbcdc1f5949a6d6ced352a42eb0e278218bad0f866c6935cd48c7f96d982ff12f399093e8da4330fadc370f86d506c5e857fe1a3e1c',
};
const orderHash = '0x5b15b95ea1e42d955d9986978c04f95d4aca407980f1b1234baf7ba9731e25d2';
const otherHash = '0x54d9cc1160b8ad48a7fed3fe67db03d85b4b7dd3611dd30dd45beefe9da23ff8';
const cancelSignature =
  '0x62640f1f0b7eaee7aad6da8d7d238eaf29850fab99e15b72eeefa19fe28c1ed1710660fa3c17d7142b311c1538843be69a9c724220b6f8149bceabdd4c9f321c1b';
const otherCancelSignature =
  '0x776ae8acf6a7bc987ce38c939ae9188f8cade034553a4e6877c761c29440670976051cbc410f2a39854215a275dbb838a08ca3cae4133228138adb990617e5001b';

const filledBy = { transactionHash: `0x${'9a'.repeat(32)}`, logIndex: 4 };
const at = { position: '3:1377', loggedAtMs: 1800000007204 };
const fill = {
  ...at,
  happened: 'FILLED',
  makingToken: placement.order.making.token,
  makingAmount: '0x64',
  takingToken: placement.order.taking.token,
  takingAmount: '0x32',
  remainingMakingAmount: '0x0',
  taker: `0x${'c3'.repeat(20)}`,
  blockNumber: 200000007,
  blockTimestamp: block(200000007).timestamp,
  ...filledBy,
};
const end = {
  ...at,
  happened: 'REMOVED',
  status: 'FILLED',
  remainingMakingAmount: '0x0',
  cause: { kind: 'log', ...filledBy, block: block(200000007) },
};

const { happened: _, position: __, loggedAtMs: ___, ...filled } = fill;
const bookFill = {
  orderHash,
  maker: placement.order.maker,
  ...filled,
  price: { numerator: '1', denominator: '2' },
};
const pair = { tokenIn: placement.order.taking.token, tokenOut: placement.order.making.token };
const level = { price: { numerator: '1', denominator: '2' }, amountIn: '50', amountOut: '100', orders: 1, gas: 72_000 };
const held = { block: block(200000007), ageSeconds: 0.4 };
const clock = {
  partition: 0,
  key: 'clock:0',
  headers: { ce_id: '0:1310:0', ce_type: 'makerbook.BookClock.v1', ce_time: '2027-01-15T08:00:07.100Z' },
  value: { block: block(200000007), position: { partition: 0, offset: '1311' }, log: '5e1fc0de' },
};
const partition = { partition: 0, position: { partition: 0, offset: '1310' }, entries: 0, hash: `0x${'0'.repeat(64)}` };

export const examples = {
  placements: [placement, otherPlacement],
  placed: [
    { ...placement, orderHash, status: 'VALIDATING' },
    { ...otherPlacement, orderHash: otherHash, status: 'VALIDATING' },
  ],
  listQuery: {
    issuedAt: 1800000000,
    salt: '0x5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a',
    signature:
      '0xa207cf031f1e7be1e92870bed62159f7596064991153e7d19329f06c0e0c7e630a6edc94394a20b89256b306aaed520a00f737a2d33c56d19d164a2a177216511c',
  },
  listed: [
    { ...placement, orderHash, status: 'ACTIVE', routableUntil: 4294967235 },
    {
      ...otherPlacement,
      orderHash: otherHash,
      status: 'INACTIVE',
      reason: 'INSUFFICIENT_BALANCE',
      routableUntil: 4294967235,
      remainingMakingAmount: '0x190',
    },
  ],
  orderQuery: {
    issuedAt: 1800000000,
    salt: '0x5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a',
    signature:
      '0x7c8b8bc1e2fb0aa87179455903930013c537ffa936530e93906c185e0df6b9b97c0d0ec7958dbfe8f1061f2a3d6781af975657f2e4ae2387674296aef14208451b',
  },
  historyQuery: {
    issuedAt: 1800000000,
    salt: '0x5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a',
    signature:
      '0xf2062fafb59b63eaaa0ab9c44c8613cc9e4bc03822d6f76542da428562efd2d007524e30d3bcd6d37e3babc7d84720d2f0bf54c8eae1b99956cdf9fa76e14a411c',
  },
  accountQuery: {
    issuedAt: 1800000000,
    salt: '0x5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a',
    signature:
      '0xacf90b09a52b5f0e4b2b2715be7fee54adf303de605c2ea5b8bbd95f742ad4c602c7675f18e6f2b2f42dc00eaca4d5faaa5662602ac7fbc33e276a016c9766031c',
  },
  account: {
    maker: placement.order.maker,
    position: '3:1380',
    block: { number: 200000007, timestamp: 1800000007 },
    admission: 'ADMITTED',
    isCancelOnly: false,
    isQuarantined: false,
    nonce: '0x0',
    openOrders: { count: 2, max: 1000 },
    rememberedHashes: { count: 17, max: 10_000_000 },
    orderBudget: { perSecond: 100, burst: 1000, left: 998 },
    cancelBudget: { perSecond: 500, burst: 5000, left: 5000 },
    listBudget: { perSecond: 50, burst: 500, left: 499 },
    cancelKeys: { keys: ['0x5050a4f4b3f9338c3472dcc01a87c76a144b3c9c'], issuedAtMs: 1800000000123 },
    switch: { cancelAt: 1800000030, hasFired: false, key: null, issuedAtMs: 1800000000123 },
    caps: [
      {
        token: placement.order.making.token,
        amount: '0xc8',
        windowSeconds: 60,
        filled: '0x64',
        windowEndsAt: 1800000067,
        issuedAtMs: 1800000000123,
      },
    ],
  },
  reported: {
    ...placement,
    orderHash,
    status: 'FILLED',
    routableUntil: 4294967235,
    remainingMakingAmount: '0x0',
    filledMakingAmount: '0x64',
    acceptedAtMs: 1800000000123,
    timeline: [
      {
        position: '3:1204',
        loggedAtMs: 1800000000123,
        happened: 'OPENED',
        status: 'VALIDATING',
        remainingMakingAmount: '0x64',
        cause: { kind: 'request', requestId: '3e1f6f0c-6a53-4f52-9be0-2f3a0a6f8f1e' },
      },
      {
        position: '3:1205',
        loggedAtMs: 1800000000131,
        happened: 'CHANGED',
        status: 'ACTIVE',
        remainingMakingAmount: '0x64',
        cause: { kind: 'read', occasion: 'ORDER', block: block(200000000) },
      },
      fill,
      end,
    ],
  },
  history: {
    entries: [
      { ...fill, orderHash },
      { ...end, orderHash },
    ],
    nextCursor: '3:5e1fc0de:1380',
    hasMore: false,
  },
  cancelQuery: {
    orderHashes: [orderHash, otherHash],
    signatures: [cancelSignature, otherCancelSignature],
  },
  cancellations: [
    { orderHash, signature: cancelSignature },
    { orderHash: otherHash, signature: otherCancelSignature },
  ],
  cancelled: [
    { orderHash, status: 'CANCELLED' },
    { orderHash: otherHash, status: 'NOT_FOUND' },
  ],
  replacement: {
    cancel: [{ orderHash, signature: cancelSignature, salt: placement.order.salt }],
    place: [otherPlacement],
  },
  replaced: {
    cancelled: [{ orderHash, status: 'CANCELLED' }],
    placed: [{ ...otherPlacement, orderHash: otherHash, status: 'VALIDATING' }],
  },
  streamQuery: {
    issuedAt: 1800000000,
    salt: '0x5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a',
    signature:
      '0x4518976fbeeec945841ca777e94d75abe5d1ade4fc7cf15b210eccc7bbbd8080251a31b60477b060f1e1de6c4e46e524464d1ae85c34c1c3855750392e5a7dbf1b',
  },
  stream:
    'id: 3:5e1fc0de:1300\nevent: snapshot\ndata: {"orders":[],"version":"1299"}\n\nevent: clock\ndata: {"position":"3:1310","block":{"number":200000007,"timestamp":1800000007}}\n\n',
  cancelAll: {
    maker: placement.order.maker,
    making: placement.order.making.token,
    untilMs: 1800000000123,
    signature:
      '0x2044adf109ecc4ff933b24df0ae9ad5694133d75852c089a81b22836c455c15c0fb72e1052c444fa88ca7879283013e1cc4a78ad4f66f82368fd78934cc46cca1c',
  },
  cancelledAll: {
    maker: placement.order.maker,
    making: placement.order.making.token,
    untilMs: 1800000000123,
  },
  heartbeat: {
    maker: placement.order.maker,
    cancelAt: 1800000030,
    issuedAtMs: 1800000000123,
    signature:
      '0x60f48cefa48e90eac2e6b5632c25a82f5f78d468af95998e920d75ea3fea522f32ea5c86f2be63575472d82859e90a1443a61d9bfd3d8e683bd88ec7dc4ef6061b',
  },
  heartbeatAnswer: {
    maker: placement.order.maker,
    cancelAt: 1800000030,
    issuedAtMs: 1800000000123,
    counts: { cancelAt: 1800000030, issuedAtMs: 1800000000123 },
  },
  cancelKeys: {
    maker: placement.order.maker,
    keys: ['0x5050a4f4b3f9338c3472dcc01a87c76a144b3c9c'],
    issuedAtMs: 1800000000123,
    signature:
      '0x251e6e4b385505a6a357847e0a7951b7497990dcaf8700419ecbcbba20bd8165154f1a739ada644de0c9498f3bafb1413ebacac78b0909b50d93e77c099071711c',
  },
  cancelKeysAnswer: {
    maker: placement.order.maker,
    keys: ['0x5050a4f4b3f9338c3472dcc01a87c76a144b3c9c'],
    issuedAtMs: 1800000000123,
    counts: { keys: ['0x5050a4f4b3f9338c3472dcc01a87c76a144b3c9c'], issuedAtMs: 1800000000123 },
  },
  fillCap: {
    maker: placement.order.maker,
    token: placement.order.making.token,
    amount: '0xc8',
    windowSeconds: 60,
    issuedAtMs: 1800000000123,
    signature:
      '0xddd1beac7e155e17ea81ec5bf234f0c7a74e7a3bceb16dc3b597b16e0c021f0d37491e2ec32cc4593bf29700bbfcf8e521e9a67d1ceb2e496e96c9dfee9ef9401c',
  },
  fillCapAnswer: {
    maker: placement.order.maker,
    token: placement.order.making.token,
    amount: '0xc8',
    windowSeconds: 60,
    issuedAtMs: 1800000000123,
    counts: {
      token: placement.order.making.token,
      amount: '0xc8',
      windowSeconds: 60,
      issuedAtMs: 1800000000123,
    },
  },
  quotePatch: {
    data: '0xdbde5e4c00000000000000000000000000000000000000000000000000000000000000070000000000000000000000002000000000000000000000000000000000000002000000000000000000000000000000000000000000000000000000000000138800000000000000000000000030000000000000000000000000000000000000030000000000000000000000001a642f0e3c3af545e7acbd38b07251b3990914f100000000000000000000000000000000000000000000000000000000ffffffff0000000000000000000000000000000000000000000000000000000000000120000000000000000000000000000000000000000000000000000000000000016000000000000000000000000000000000000000000000000000000000000001a000000000000000000000000000000000000000000000000000000000000000145000000000000000000000000000000000000005000000000000000000000000000000000000000000000000000000000000000000000000000000000000000100000000000000000000000000000000000000000000000000000000000003e80000000000000000000000000000000000000000000000000000000000000041779e1f7ea0e3c8dcefdbd9ed4e68731c98e9be95bcd3dda806f6db654280dce8724698ec3045b48e5f8b63b8fa3db140a86f79bca92116ccdeb1903504cdfdad1c00000000000000000000000000000000000000000000000000000000000000',
    minOutput: { amount: '1100' },
  },
  patchedQuote:
    '0xdbde5e4c00000000000000000000000000000000000000000000000000000000000000070000000000000000000000002000000000000000000000000000000000000002000000000000000000000000000000000000000000000000000000000000138800000000000000000000000030000000000000000000000000000000000000030000000000000000000000001a642f0e3c3af545e7acbd38b07251b3990914f100000000000000000000000000000000000000000000000000000000ffffffff0000000000000000000000000000000000000000000000000000000000000120000000000000000000000000000000000000000000000000000000000000016000000000000000000000000000000000000000000000000000000000000001a0000000000000000000000000000000000000000000000000000000000000001450000000000000000000000000000000000000050000000000000000000000000000000000000000000000000000000000000000000000000000000000000001000000000000000000000000000000000000000000000000000000000000044c0000000000000000000000000000000000000000000000000000000000000041aff8250d29b453f77cdd4cd9d40dbd0954d47cc927a013757f5079bab723be8e450f280efa3f5761a6f2b603fd54fc1eb58f44f08e47503b10b1da05e2b5dacd1c00000000000000000000000000000000000000000000000000000000000000',
  bookCursor: '1310:0:5e1fc0de',
  bookSnapshot: `${JSON.stringify(clock)}\n${JSON.stringify({ cursor: '1310:0:5e1fc0de', partitions: [partition] })}\n`,
  bookStream: `id: 1310:0:5e1fc0de\nevent: clock\ndata: ${JSON.stringify(clock)}\n\n`,
  bookFills: {
    fills: [bookFill],
    nextCursor: `${bookFill.blockNumber}:${bookFill.logIndex}`,
    streamCursor: '1310:0:5e1fc0de',
  },
  fillStream: `id: 1310:0:5e1fc0de\nevent: fill\ndata: ${JSON.stringify(bookFill)}\n\n`,
  pairs: { ...held, pairs: [{ ...pair, orders: 1, best: level }] },
  ladder: { ...pair, ...held, levels: [level] },
  bookQuote: {
    ...pair,
    ...held,
    amountIn: '50',
    amountOut: '100',
    gas: 300_000,
    gasUsed: 197_000,
    passedOver: 0,
    fills: [{ ...placement, orderHash, makingAmount: '100', takingAmount: '50', executable: '100' }],
    spares: [],
    to: exampleDomain.orderFiller,
    data: '0xae325c0200000000000000000000000000000000000000000000000000000000000000a000000000000000000000000000000000000000000000000000000000000000320000000000000000000000000000000000000000000000000000000000000064000000000000000000000000000000000000000000000000000000000000006400000000000000000000000000000000000000000000000000000000000493e0000000000000000000000000000000000000000000000000000000000000000100000000000000000000000000000000000000000000000000000000000000200000000000000000000000000000000000000000000000000000000000007b1f000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000ffffffff00000000000000000000000020000000000000000000000000000000000000020000000000000000000000000000000000000000000000000000000000000064000000000000000000000000300000000000000000000000000000000000000300000000000000000000000000000000000000000000000000000000000000320000000000000000000000001a642f0e3c3af545e7acbd38b07251b3990914f10000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000016000000000000000000000000000000000000000000000000000000000000000640000000000000000000000000000000000000000000000000000000000000041ecbb79eb7774521cb0c82ec4cc4942afd446b7b21c7b062a6e1cf4bf4f655b095ac456820bc9ea89729ff40e4c7263a261b85f4d591a89aeda9aad2f111bfffe1c00000000000000000000000000000000000000000000000000000000000000',
    allowanceTarget: exampleDomain.orderFiller,
  },
  info: {
    serviceName: exampleDomain.serviceName,
    chainId: exampleDomain.chainId,
    contracts: {
      limitOrderProtocol: exampleDomain.limitOrderProtocol,
      navigator: exampleDomain.navigator,
      orderFiller: exampleDomain.orderFiller,
    },
    tokens,
    domains: { order: domain(), cancellation: domain(), list: domain() },
    receiptSigners: [exampleDomain.receiptSigner],
    limits: {
      ordersPerPost: 100,
      openOrdersPerMaker: 1000,
      rememberedHashesPerMaker: 10_000_000,
      cancelsPerDelete: 100,
      cancelWaitSeconds: 5,
      orderBudget: { perSecond: 100, burst: 1000 },
      cancelBudget: { perSecond: 500, burst: 5000 },
      listBudget: { perSecond: 50, burst: 500 },
      clientRequests: { windowSeconds: 60, place: 6000, cancel: 12000, list: 6000, patch: 3000 },
      requestTtlSeconds: 30,
      clockSkewSeconds: 5,
      bodyBytesMax: 262144,
      headerBytesMax: 65536,
      gracePeriodSeconds: 60,
    },
    serverTime: 1800000001,
    block: { number: 200000000, timestamp: 1800000000 },
  },
};

function block(number: number) {
  return { number, hash: `0x${number.toString(16).padStart(64, '0')}`, timestamp: 1600000000 + number };
}

function domain() {
  return {
    name: `${exampleDomain.serviceName} Limit Order Protocol`,
    version: 'v0',
    chainId: exampleDomain.chainId,
    verifyingContract: exampleDomain.limitOrderProtocol,
  };
}
