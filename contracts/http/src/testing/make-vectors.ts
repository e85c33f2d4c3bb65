import {
  concat,
  getBytes,
  hashMessage,
  keccak256,
  type Signature,
  type SigningKey,
  TypedDataEncoder,
  toBeHex,
  Wallet,
} from 'ethers';
import {
  EXAMPLE_MAKER_KEY,
  EXAMPLE_QUOTE_SIGNER_KEY,
  EXAMPLE_RECEIPT_KEY,
  exampleDomain,
  examples,
} from '../examples.js';

interface Field {
  readonly name: string;
  readonly type: string;
}

/** Typed data as `eth_signTypedData_v4` takes it. */
export interface TypedData {
  readonly types: Readonly<Record<string, Field[]>>;
  readonly primaryType: string;
  readonly domain: Readonly<Record<string, string | number>>;
  readonly message: Readonly<Record<string, unknown>>;
}

/** Changes the signature over a digest into another form. */
type Spoil = (signature: Signature, digest: string) => string;

const maker = new Wallet(EXAMPLE_MAKER_KEY);
const stranger = new Wallet(EXAMPLE_QUOTE_SIGNER_KEY);
const receiptSigner = new Wallet(EXAMPLE_RECEIPT_KEY);
const domain = {
  name: `${exampleDomain.serviceName} Limit Order Protocol`,
  version: 'v0',
  chainId: exampleDomain.chainId,
  verifyingContract: exampleDomain.limitOrderProtocol,
};
const CURVE_ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;
const UINT256_MAX = toBeHex(2n ** 256n - 1n);

const fields = (type: string, ...names: string[]): Field[] => names.map((name) => ({ name, type }));
const plainDomain = [
  ...fields('string', 'name', 'version'),
  ...fields('uint256', 'chainId'),
  ...fields('address', 'verifyingContract'),
];
const orderTypes = {
  Order: [
    ...fields('uint256', 'salt', 'nonce', 'expiresAt'),
    ...fields('TokenAmount', 'making', 'taking'),
    ...fields('address', 'maker', 'permittedTaker'),
  ],
  TokenAmount: [...fields('address', 'token'), ...fields('uint256', 'amount')],
};

/** The EIP-712 digest, by ethers. Ethers' own `hash` types a domain's salt only as bytes32. */
export function digestOf({ types, primaryType, domain: signedDomain, message }: TypedData): string {
  const { EIP712Domain = [], ...messageTypes } = types;
  const separator = TypedDataEncoder.hashStruct('EIP712Domain', { EIP712Domain }, signedDomain);
  return keccak256(concat(['0x1901', separator, TypedDataEncoder.hashStruct(primaryType, messageTypes, message)]));
}

export function sign(
  typedData: TypedData,
  key: SigningKey = maker.signingKey,
  spoil: Spoil = ({ serialized }) => serialized,
) {
  const digest = digestOf(typedData);
  return { typedData, digest, signature: spoil(key.sign(digest), digest) };
}

const compact: Spoil = ({ compactSerialized }) => compactSerialized;
const withV =
  (v: (yParity: number) => number): Spoil =>
  ({ r, s, yParity }) =>
    concat([r, s, toBeHex(v(yParity), 1)]);
const highS: Spoil = ({ r, s, yParity }) => concat([r, toBeHex(CURVE_ORDER - BigInt(s), 32), toBeHex(28 - yParity, 1)]);
const personal: Spoil = (_, digest) => maker.signingKey.sign(hashMessage(getBytes(digest))).serialized;
const cut: Spoil = ({ serialized }) => serialized.slice(0, -4);

/** The forms of a signature that are taken, and some that are not. All are over the right digest. */
const forms: readonly [title: string, spoil: Spoil, isRight: boolean][] = [
  ['65 bytes, v of 27 or 28', ({ serialized }) => serialized, true],
  ['65 bytes, v of 0 or 1', withV((yParity) => yParity), true],
  ['64 bytes of EIP-2098', compact, true],
  ['uppercase hex', ({ serialized }) => `0x${serialized.slice(2).toUpperCase()}`, true],
  ['high s', highS, false],
  ['v of EIP-155', withV((yParity) => 35 + yParity), false],
  ['63 bytes', cut, false],
];

const [placement] = examples.placements;
if (placement === undefined) throw new Error('there is no example');
const { order } = placement;
const orderHash = digestOf(orderData(order));

export function orderData(message: TypedData['message'], over: Partial<TypedData> = {}): TypedData {
  return { types: { EIP712Domain: plainDomain, ...orderTypes }, primaryType: 'Order', domain, message, ...over };
}

/** A vector: a request with this signature, and what the service answers. */
function vectorOf<R extends object>(
  title: string,
  request: R,
  { typedData, digest, signature }: ReturnType<typeof sign>,
  expected: object,
) {
  return { title, request: { ...request, signature }, typedData, digest, expected };
}

const invalid = { code: 'invalid_signature' };
// A GET names no maker: the service takes the address that it recovers from the signature. For a signature over other
// data, that is a random address, which is not on the whitelist.
const strange = { code: 'maker_not_whitelisted' };

/** A vector for each form of a signature over the right data. */
function inAllForms<R extends object>(request: R, data: TypedData, right: object = { maker: order.maker }) {
  return forms.map(([title, spoil, isRight]) =>
    vectorOf(title, request, sign(data, maker.signingKey, spoil), isRight ? right : invalid),
  );
}

function makeOrders() {
  const accepted = (title: string, posted: typeof order, message = posted) => {
    const signed = sign(orderData(message));
    return vectorOf(title, { order: posted }, signed, { orderHash: signed.digest });
  };
  const refused = (title: string, data: TypedData, key = maker.signingKey, spoil?: Spoil) =>
    vectorOf(title, { order }, sign(data, key, spoil), invalid);
  const own = orderData(order);
  const inDomain = (changed: TypedData['domain']) => orderData(order, { domain: { ...domain, ...changed } });
  const otherParity = withV((yParity) => 28 - yParity);
  const extremes = { ...order, salt: UINT256_MAX, nonce: UINT256_MAX, expiresAt: UINT256_MAX };
  const padded = { ...order, salt: '0x007B1F', maker: maker.address, making: { ...order.making, amount: '0x0064' } };
  const salted = {
    types: { EIP712Domain: [...plainDomain, ...fields('uint256', 'salt')], ...orderTypes },
    domain: { ...domain, salt: order.salt },
  };
  return [
    ...inAllForms({ order }, own, { orderHash }),
    accepted('the largest quantities', extremes),
    accepted('posted with leading zeros, uppercase hex and a checksum address: the same hash', padded, order),
    refused('v of the other parity', own, maker.signingKey, otherParity),
    refused('by another key', own, stranger.signingKey),
    refused('as a personal message over the digest', own, maker.signingKey, personal),
    refused('over another amount', orderData({ ...order, taking: { ...order.taking, amount: '0x33' } })),
    refused('domain: the name of the service alone', inDomain({ name: 'Makerbook' })),
    refused('domain: version 1', inDomain({ version: '1' })),
    refused('domain: another chain', inDomain({ chainId: 1001 })),
    refused('domain: another contract', inDomain({ verifyingContract: order.maker })),
    refused("domain: with the order's salt", orderData(order, salted)),
  ];
}

/** A message whose domain has a salt of this type. Without `salt`, the domain has none. */
function saltedData(
  primaryType: string,
  type: Field[],
  message: TypedData['message'],
  saltType: string,
  salt?: string,
): TypedData {
  const EIP712Domain = salt === undefined ? plainDomain : [...plainDomain, ...fields(saltType, 'salt')];
  const signedDomain = salt === undefined ? domain : { ...domain, salt };
  return { types: { EIP712Domain, [primaryType]: type }, primaryType, domain: signedDomain, message };
}

const leftPadded = (hex: string) => `0x${hex.slice(2).padStart(64, '0')}`;
const rightPadded = (hex: string) => `0x${hex.slice(2).padEnd(64, '0')}`;

export function cancellationData(hash: string, saltType: string, salt?: string): TypedData {
  return saltedData('OrderCancellationRequest', fields('bytes32', 'orderHash'), { orderHash: hash }, saltType, salt);
}

function makeCancellations() {
  const { salt } = order;
  const data = (saltType: string, signedSalt?: string, hash = orderHash) =>
    cancellationData(hash, saltType, signedSalt);
  const make = (title: string, signed: ReturnType<typeof sign>, isRight: boolean, querySalt?: string) => ({
    title,
    order: { orderHash, maker: order.maker, salt },
    request: { orderHash, signature: signed.signature, ...(querySalt === undefined ? {} : { salt: querySalt }) },
    typedData: signed.typedData,
    digest: signed.digest,
    expected: isRight ? { status: 'CANCELLED' } : invalid,
  });
  const own = data('uint256', salt);
  const other = '0x0badcafe';
  return [
    ...forms.map(([title, spoil, isRight]) =>
      make(`uint256 salt of the order; ${title}`, sign(own, maker.signingKey, spoil), isRight),
    ),
    make('bytes32 salt of the order, padded on the left', sign(data('bytes32', leftPadded(salt))), true),
    make('uint256 salt of the query', sign(data('uint256', other)), true, other),
    make('bytes32 salt of the query, padded on the left', sign(data('bytes32', leftPadded(other))), true, other),
    make('bytes32 salt padded on the right', sign(data('bytes32', rightPadded(salt))), false),
    make('no salt in the domain', sign(data('uint256')), false),
    make('the salt of another order', sign(data('uint256', '0x7b20')), false),
    make('salt of the order, and another in the query', sign(own), false, other),
    make('another salt, and none in the query', sign(data('uint256', other)), false),
    make('over another hash', sign(data('uint256', salt, leftPadded('0x1'))), false),
    make('by another key', sign(own, stranger.signingKey), false),
  ];
}

function makeLists() {
  const { issuedAt, salt } = examples.listQuery;
  const short = '0x5a5a';
  const data = (signedSalt: string | undefined, saltType = 'bytes32', at = issuedAt) =>
    saltedData('GetLimitOrdersRequest', fields('uint256', 'issuedAt'), { issuedAt: at }, saltType, signedSalt);
  const request = { issuedAt, salt };
  const shorter = { issuedAt, salt: short };
  const [onLeft, onRight] = [sign(data(leftPadded(short))), sign(data(rightPadded(short)))] as const;
  return [
    ...inAllForms(request, data(salt)),
    vectorOf('a short salt, padded on the left in the domain', shorter, onLeft, { maker: order.maker }),
    vectorOf('a short salt, padded on the right in the domain', shorter, onRight, strange),
    vectorOf('salt typed uint256', request, sign(data(salt, 'uint256')), strange),
    vectorOf('no salt in the domain', request, sign(data(undefined)), strange),
    vectorOf('over another issuedAt', request, sign(data(salt, 'bytes32', issuedAt + 1)), strange),
    vectorOf('by another key', request, sign(data(salt), stranger.signingKey), strange),
  ];
}

function makeOrderRequests() {
  const { issuedAt, salt } = examples.orderQuery;
  const type = [...fields('bytes32', 'orderHash'), ...fields('uint256', 'issuedAt')];
  const data = (signedSalt: string, hash = orderHash, at = issuedAt) =>
    saltedData('GetLimitOrderRequest', type, { orderHash: hash, issuedAt: at }, 'bytes32', signedSalt);
  const request = { orderHash, issuedAt, salt };
  return [
    ...inAllForms(request, data(salt)),
    vectorOf('over another hash', request, sign(data(salt, leftPadded('0x1'))), strange),
    vectorOf('over another issuedAt', request, sign(data(salt, orderHash, issuedAt + 1)), strange),
    vectorOf('with another salt', request, sign(data(leftPadded('0x5a5a'))), strange),
    vectorOf('by another key', request, sign(data(salt), stranger.signingKey), strange),
  ];
}

/** Read requests whose message has only a time. */
function makeDatedRequests(type: string, { issuedAt, salt }: { readonly issuedAt: number; readonly salt: string }) {
  const data = (primaryType: string, at = issuedAt) =>
    saltedData(primaryType, fields('uint256', 'issuedAt'), { issuedAt: at }, 'bytes32', salt);
  const request = { issuedAt, salt };
  return [
    ...inAllForms(request, data(type)),
    vectorOf('over a request for the list', request, sign(data('GetLimitOrdersRequest')), strange),
    vectorOf('over another issuedAt', request, sign(data(type, issuedAt + 1)), strange),
    vectorOf('by another key', request, sign(data(type), stranger.signingKey), strange),
  ];
}

const zero = `0x${'0'.repeat(40)}`;
const allFields = [...fields('address', 'maker', 'making', 'taking'), ...fields('uint256', 'untilMs')];
const saltFields = [...fields('address', 'maker'), ...fields('uint256[]', 'salts'), ...fields('uint256', 'untilMs')];
const beatFields = [...fields('address', 'maker'), ...fields('uint256', 'cancelAt', 'issuedAtMs')];
const keyFields = [...fields('address', 'maker'), ...fields('address[]', 'keys'), ...fields('uint256', 'issuedAtMs')];
const allKeyFields = [
  ...keyFields.slice(0, 2),
  ...fields('address[]', 'listKeys', 'streamKeys', 'historyKeys'),
  ...keyFields.slice(2),
];
const capFields = [
  ...fields('address', 'maker', 'token'),
  ...fields('uint256', 'amount', 'windowSeconds', 'issuedAtMs'),
];

/** A message in the domain of orders. */
function plainData(
  primaryType: string,
  type: Field[],
  message: TypedData['message'],
  signedDomain: TypedData['domain'] = domain,
): TypedData {
  return { types: { EIP712Domain: plainDomain, [primaryType]: type }, primaryType, domain: signedDomain, message };
}

/** Messages in the domain of orders about all orders of the maker. */
function makeExits() {
  const named = (primaryType: string, type: Field[], request: object, message: TypedData['message']) => {
    const data = plainData(primaryType, type, message);
    const byStranger = vectorOf('by another key', request, sign(data, stranger.signingKey), invalid);
    return [...inAllForms(request, data), byStranger];
  };
  const { signature: _all, ...all } = examples.cancelAll;
  const { signature: _beat, ...beat } = examples.heartbeat;
  const { signature: _keys, ...keys } = examples.cancelKeys;
  const readers = { ...keys, listKeys: keys.keys, streamKeys: [stranger.address.toLowerCase()], historyKeys: [] };
  const { signature: _cap, ...cap } = examples.fillCap;
  const salts = { maker: order.maker, salts: ['0x7', '0x1f'], untilMs: all.untilMs };
  const everything = { maker: order.maker, untilMs: all.untilMs };
  return {
    cancelAlls: [
      ...named('CancelAllRequest', allFields, all, { ...all, taking: zero }),
      ...named('CancelAllRequest', allFields, everything, { ...everything, making: zero, taking: zero }),
    ],
    saltCancellations: named('CancelBySaltRequest', saltFields, salts, salts),
    heartbeats: named('HeartbeatRequest', beatFields, beat, beat),
    cancelKeys: named('CancelKeysRequest', keyFields, keys, keys),
    readKeys: named('KeysRequest', allKeyFields, readers, readers),
    fillCaps: named('FillCapRequest', capFields, cap, cap),
  };
}

/** Answers with their receipts, and whether a verifier that trusts the receipt signer takes them. */
function makeReceipts() {
  const type = [...fields('bytes32[]', 'placed', 'cancelled', 'messages'), ...fields('string', 'position')];
  const position = '3:1377';
  const make = (
    title: string,
    body: unknown,
    stated: object,
    isValid = true,
    over: { readonly at?: string; readonly key?: SigningKey; readonly where?: TypedData['domain'] } = {},
  ) => {
    const { at = position, key = receiptSigner.signingKey, where } = over;
    const message = { placed: [], cancelled: [], messages: [], position: at, ...stated };
    const { signature, ...signed } = sign(plainData('Receipt', type, message, where), key);
    return { title, answer: { body, 'X-Log-Position': at, 'X-Receipt': signature }, ...signed, expected: { isValid } };
  };
  const placed = examples.placed.map((record) => record.orderHash);
  const [first] = placed;
  const all = { taking: zero, ...examples.cancelledAll };
  const messageOf = (name: string, struct: Field[], message: TypedData['message']) => ({
    messages: [digestOf(plainData(name, struct, message))],
  });
  const { keys: listKeys } = examples.cancelKeysAnswer;
  const readersTold = { ...examples.cancelKeysAnswer, listKeys, streamKeys: [], historyKeys: [] };
  const replaced = { placed: placed.slice(1), cancelled: [first] };
  const where = { ...domain, verifyingContract: zero };
  return [
    make('of placed orders', examples.placed, { placed }),
    make('of makers in two partitions', examples.placed, { placed }, true, { at: '3:1377, 5:20' }),
    make('of cancelled orders: one that is not found is not in it', examples.cancelled, { cancelled: [first] }),
    make('of a replacement', examples.replaced, replaced),
    make('of a cancel-all', examples.cancelledAll, messageOf('CancelAllRequest', allFields, all)),
    make(
      'of a heartbeat',
      examples.heartbeatAnswer,
      messageOf('HeartbeatRequest', beatFields, examples.heartbeatAnswer),
    ),
    make(
      'of named keys',
      examples.cancelKeysAnswer,
      messageOf('CancelKeysRequest', keyFields, examples.cancelKeysAnswer),
    ),
    make('of named keys, some of which read', readersTold, messageOf('KeysRequest', allKeyFields, readersTold)),
    make('of a fill cap', examples.fillCapAnswer, messageOf('FillCapRequest', capFields, examples.fillCapAnswer)),
    make('over another position', examples.placed, { placed, position: '3:1376' }, false),
    make('over one of two orders', examples.placed, { placed: [first] }, false),
    make('over orders in another order', examples.placed, { placed: placed.toReversed() }, false),
    make('over cancelled orders as placed', examples.cancelled, { placed: [first] }, false),
    make('over an order that is not found', examples.cancelled, { cancelled: placed }, false),
    make(
      'over a replacement, the other way round',
      examples.replaced,
      { placed: [first], cancelled: placed.slice(1) },
      false,
    ),
    make(
      'over a cancel-all of another time',
      examples.cancelledAll,
      messageOf('CancelAllRequest', allFields, { ...all, untilMs: 1 }),
      false,
    ),
    make('in the domain of another contract', examples.placed, { placed }, false, { where }),
    make('by another key', examples.placed, { placed }, false, { key: stranger.signingKey }),
  ];
}

/**
 * Signatures for every kind of message, right and nearly right, with the service's answers. The keys are fixed, so the
 * result is always the same.
 */
export function makeVectors() {
  return {
    keys: {
      maker: { privateKey: EXAMPLE_MAKER_KEY, address: maker.address.toLowerCase() },
      stranger: { privateKey: EXAMPLE_QUOTE_SIGNER_KEY, address: stranger.address.toLowerCase() },
      receiptSigner: { privateKey: EXAMPLE_RECEIPT_KEY, address: receiptSigner.address.toLowerCase() },
    },
    domain,
    orders: makeOrders(),
    cancellations: makeCancellations(),
    lists: makeLists(),
    orderRequests: makeOrderRequests(),
    accountRequests: makeDatedRequests('GetAccountRequest', examples.accountQuery),
    historyRequests: makeDatedRequests('GetLimitOrderHistoryRequest', examples.historyQuery),
    streamRequests: makeDatedRequests('StreamLimitOrdersRequest', examples.streamQuery),
    ...makeExits(),
    receipts: makeReceipts(),
  };
}

export type Vectors = ReturnType<typeof makeVectors>;
