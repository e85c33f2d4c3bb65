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
import { EXAMPLE_MAKER_KEY, EXAMPLE_QUOTE_SIGNER_KEY, exampleDomain, examples } from '../examples.js';

interface Field {
  readonly name: string;
  readonly type: string;
}

/** What `eth_signTypedData_v4` takes. */
export interface TypedData {
  readonly types: Readonly<Record<string, Field[]>>;
  readonly primaryType: string;
  readonly domain: Readonly<Record<string, string | number>>;
  readonly message: Readonly<Record<string, unknown>>;
}

/** Makes another signature of the one over a digest. */
type Spoil = (signature: Signature, digest: string) => string;

const maker = new Wallet(EXAMPLE_MAKER_KEY);
const stranger = new Wallet(EXAMPLE_QUOTE_SIGNER_KEY);
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

/** The EIP-712 digest, by ethers; its own `hash` types a domain's salt as bytes32 alone. */
export function digestOf({ types, primaryType, domain: signedDomain, message }: TypedData): string {
  const { EIP712Domain = [], ...messageTypes } = types;
  const separator = TypedDataEncoder.hashStruct('EIP712Domain', { EIP712Domain }, signedDomain);
  return keccak256(concat(['0x1901', separator, TypedDataEncoder.hashStruct(primaryType, messageTypes, message)]));
}

function sign(typedData: TypedData, key: SigningKey = maker.signingKey, spoil: Spoil = ({ serialized }) => serialized) {
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

/** How a signature may be written, and how it may not; the digest is the right one. */
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

function orderData(message: TypedData['message'], over: Partial<TypedData> = {}): TypedData {
  return { types: { EIP712Domain: plainDomain, ...orderTypes }, primaryType: 'Order', domain, message, ...over };
}

function makeOrders() {
  const accepted = (title: string, posted: typeof order, message = posted, spoil?: Spoil) => {
    const { typedData, digest, signature } = sign(orderData(message), maker.signingKey, spoil);
    return { title, request: { order: posted, signature }, typedData, digest, expected: { orderHash: digest } };
  };
  const refused = (title: string, signed: ReturnType<typeof sign>) => {
    const { typedData, digest, signature } = signed;
    return { title, request: { order, signature }, typedData, digest, expected: { code: 'invalid_signature' } };
  };
  const extremes = { ...order, salt: UINT256_MAX, nonce: UINT256_MAX, expiresAt: UINT256_MAX };
  const padded = { ...order, salt: '0x007B1F', maker: maker.address, making: { ...order.making, amount: '0x0064' } };
  return [
    ...forms.map(([title, spoil, isRight]) =>
      isRight ? accepted(title, order, order, spoil) : refused(title, sign(orderData(order), maker.signingKey, spoil)),
    ),
    accepted('the largest quantities', extremes),
    accepted('posted with leading zeros, uppercase hex and a checksum address: the same hash', padded, order),
    refused(
      'v of the other parity',
      sign(
        orderData(order),
        maker.signingKey,
        withV((yParity) => 28 - yParity),
      ),
    ),
    refused('by another key', sign(orderData(order), stranger.signingKey)),
    refused('as a personal message over the digest', sign(orderData(order), maker.signingKey, personal)),
    refused('over another amount', sign(orderData({ ...order, taking: { ...order.taking, amount: '0x33' } }))),
    refused(
      'domain: the name of the service alone',
      sign(orderData(order, { domain: { ...domain, name: 'Makerbook' } })),
    ),
    refused('domain: version 1', sign(orderData(order, { domain: { ...domain, version: '1' } }))),
    refused('domain: another chain', sign(orderData(order, { domain: { ...domain, chainId: 1001 } }))),
    refused(
      'domain: another contract',
      sign(orderData(order, { domain: { ...domain, verifyingContract: order.maker } })),
    ),
    refused(
      "domain: with the order's salt",
      sign(
        orderData(order, {
          types: { EIP712Domain: [...plainDomain, ...fields('uint256', 'salt')], ...orderTypes },
          domain: { ...domain, salt: order.salt },
        }),
      ),
    ),
  ];
}

/** A message whose domain has a salt of this type; none where `salt` is undefined. */
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

function makeCancellations() {
  const { salt } = order;
  const data = (saltType: string, signedSalt?: string, hash = orderHash) =>
    saltedData('OrderCancellationRequest', fields('bytes32', 'orderHash'), { orderHash: hash }, saltType, signedSalt);
  const make = (title: string, signed: ReturnType<typeof sign>, isRight: boolean, querySalt?: string) => ({
    title,
    order: { orderHash, maker: order.maker, salt },
    request: { orderHash, signature: signed.signature, ...(querySalt === undefined ? {} : { salt: querySalt }) },
    typedData: signed.typedData,
    digest: signed.digest,
    expected: isRight ? { status: 'CANCELLED' } : { code: 'invalid_signature' },
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
  const make = (title: string, signed: ReturnType<typeof sign>, expected: object, querySalt = salt) => ({
    title,
    request: { issuedAt, salt: querySalt, signature: signed.signature },
    typedData: signed.typedData,
    digest: signed.digest,
    expected,
  });
  const right = { maker: order.maker };
  // The maker is who signed: a request over other data is that of a stranger.
  const strange = { code: 'maker_not_whitelisted' };
  return [
    ...forms.map(([title, spoil, isRight]) =>
      make(title, sign(data(salt), maker.signingKey, spoil), isRight ? right : { code: 'invalid_signature' }),
    ),
    make('a short salt, padded on the left in the domain', sign(data(leftPadded(short))), right, short),
    make('a short salt, padded on the right in the domain', sign(data(rightPadded(short))), strange, short),
    make('salt typed uint256', sign(data(salt, 'uint256')), strange),
    make('no salt in the domain', sign(data(undefined)), strange),
    make('over another issuedAt', sign(data(salt, 'bytes32', issuedAt + 1)), strange),
    make('by another key', sign(data(salt), stranger.signingKey), strange),
  ];
}

function makeOrderRequests() {
  const { issuedAt, salt } = examples.orderQuery;
  const type = [...fields('bytes32', 'orderHash'), ...fields('uint256', 'issuedAt')];
  const data = (signedSalt: string, hash = orderHash, at = issuedAt) =>
    saltedData('GetLimitOrderRequest', type, { orderHash: hash, issuedAt: at }, 'bytes32', signedSalt);
  const make = (title: string, signed: ReturnType<typeof sign>, expected: object) => ({
    title,
    request: { orderHash, issuedAt, salt, signature: signed.signature },
    typedData: signed.typedData,
    digest: signed.digest,
    expected,
  });
  const strange = { code: 'maker_not_whitelisted' };
  return [
    ...forms.map(([title, spoil, isRight]) => {
      const expected = isRight ? { maker: order.maker } : { code: 'invalid_signature' };
      return make(title, sign(data(salt), maker.signingKey, spoil), expected);
    }),
    make('over another hash', sign(data(salt, leftPadded('0x1'))), strange),
    make('over another issuedAt', sign(data(salt, orderHash, issuedAt + 1)), strange),
    make('with another salt', sign(data(leftPadded('0x5a5a'))), strange),
    make('by another key', sign(data(salt), stranger.signingKey), strange),
  ];
}

/** Requests to read that name nothing but their time. */
function makeDatedRequests(type: string, { issuedAt, salt }: { readonly issuedAt: number; readonly salt: string }) {
  const data = (primaryType: string, at = issuedAt) =>
    saltedData(primaryType, fields('uint256', 'issuedAt'), { issuedAt: at }, 'bytes32', salt);
  const make = (title: string, signed: ReturnType<typeof sign>, expected: object) => ({
    title,
    request: { issuedAt, salt, signature: signed.signature },
    typedData: signed.typedData,
    digest: signed.digest,
    expected,
  });
  const strange = { code: 'maker_not_whitelisted' };
  return [
    ...forms.map(([title, spoil, isRight]) => {
      const expected = isRight ? { maker: order.maker } : { code: 'invalid_signature' };
      return make(title, sign(data(type), maker.signingKey, spoil), expected);
    }),
    make('over a request for the list', sign(data('GetLimitOrdersRequest')), strange),
    make('over another issuedAt', sign(data(type, issuedAt + 1)), strange),
    make('by another key', sign(data(type), stranger.signingKey), strange),
  ];
}

/** Messages in the domain of orders about all orders of the maker. */
function makeExits() {
  const zero = `0x${'0'.repeat(40)}`;
  const named = (primaryType: string, type: Field[], request: object, message: TypedData['message']) => {
    const data = { types: { EIP712Domain: plainDomain, [primaryType]: type }, primaryType, domain, message };
    const make = (title: string, signed: ReturnType<typeof sign>, expected: object) => ({
      title,
      request: { ...request, signature: signed.signature },
      typedData: signed.typedData,
      digest: signed.digest,
      expected,
    });
    return [
      ...forms.map(([title, spoil, isRight]) =>
        make(
          title,
          sign(data, maker.signingKey, spoil),
          isRight ? { maker: order.maker } : { code: 'invalid_signature' },
        ),
      ),
      make('by another key', sign(data, stranger.signingKey), { code: 'invalid_signature' }),
    ];
  };
  const { signature: _all, ...all } = examples.cancelAll;
  const { signature: _beat, ...beat } = examples.heartbeat;
  const { signature: _keys, ...keys } = examples.cancelKeys;
  const everything = { maker: order.maker, untilMs: all.untilMs };
  const allFields = [...fields('address', 'maker', 'making', 'taking'), ...fields('uint256', 'untilMs')];
  return {
    cancelAlls: [
      ...named('CancelAllRequest', allFields, all, { ...all, taking: zero }),
      ...named('CancelAllRequest', allFields, everything, { ...everything, making: zero, taking: zero }),
    ],
    heartbeats: named(
      'HeartbeatRequest',
      [...fields('address', 'maker'), ...fields('uint256', 'cancelAt', 'issuedAtMs')],
      beat,
      beat,
    ),
    cancelKeys: named(
      'CancelKeysRequest',
      [...fields('address', 'maker'), ...fields('address[]', 'keys'), ...fields('uint256', 'issuedAtMs')],
      keys,
      keys,
    ),
  };
}

/**
 * Signatures for every kind of message, right and nearly right, with what the service answers. All of it follows from fixed
 * keys.
 */
export function makeVectors() {
  return {
    keys: {
      maker: { privateKey: EXAMPLE_MAKER_KEY, address: maker.address.toLowerCase() },
      stranger: { privateKey: EXAMPLE_QUOTE_SIGNER_KEY, address: stranger.address.toLowerCase() },
    },
    domain,
    orders: makeOrders(),
    cancellations: makeCancellations(),
    lists: makeLists(),
    orderRequests: makeOrderRequests(),
    historyRequests: makeDatedRequests('GetLimitOrderHistoryRequest', examples.historyQuery),
    streamRequests: makeDatedRequests('StreamLimitOrdersRequest', examples.streamQuery),
    ...makeExits(),
  };
}

export type Vectors = ReturnType<typeof makeVectors>;
