import {
  AbiCoder,
  type BaseWallet,
  concat,
  id,
  keccak256,
  TypedDataEncoder,
  toBeHex,
  toUtf8Bytes,
  zeroPadValue,
} from 'ethers';

/** What an order says, as JSON has it. */
export interface OrderTerms {
  readonly salt: string;
  readonly nonce: string;
  readonly expiresAt: string;
  readonly making: { readonly token: string; readonly amount: string };
  readonly taking: { readonly token: string; readonly amount: string };
  readonly maker: string;
  readonly permittedTaker: string;
}

/** Where signatures count. */
interface SigningPlace {
  readonly serviceName: string;
  readonly chainId: number;
  readonly limitOrderProtocol: string;
}

const orderTypes = {
  Order: [
    ...['salt', 'nonce', 'expiresAt'].map((name) => ({ name, type: 'uint256' })),
    ...['making', 'taking'].map((name) => ({ name, type: 'TokenAmount' })),
    ...['maker', 'permittedTaker'].map((name) => ({ name, type: 'address' })),
  ],
  TokenAmount: [
    { name: 'token', type: 'address' },
    { name: 'amount', type: 'uint256' },
  ],
};
const orderEncoder = TypedDataEncoder.from(orderTypes);
const abi = AbiCoder.defaultAbiCoder();

/** Signs what makers send, from the interface's words alone: with ethers, and with nothing of the service's own. */
export function signWithEthers({ serviceName, chainId, limitOrderProtocol }: SigningPlace) {
  const domain = {
    name: `${serviceName} Limit Order Protocol`,
    version: 'v0',
    chainId,
    verifyingContract: limitOrderProtocol,
  };
  const orderDomain = TypedDataEncoder.hashDomain(domain);
  const digestOf = (domainHash: string, structHash: string) => keccak256(concat(['0x1901', domainHash, structHash]));
  const sign = (wallet: BaseWallet, digest: string) => wallet.signingKey.sign(digest).serialized;

  /** A domain with a salt. Ethers types it as bytes32 alone: so the one of a cancellation is encoded by hand. */
  function saltedDomain(salt: string, saltType: 'uint256' | 'bytes32'): string {
    const type = `EIP712Domain(string name,string version,uint256 chainId,address verifyingContract,${saltType} salt)`;
    const hashes = [type, domain.name, domain.version].map((text) => keccak256(toUtf8Bytes(text)));
    return keccak256(
      abi.encode(
        ['bytes32', 'bytes32', 'bytes32', 'uint256', 'address', 'bytes32'],
        [...hashes, chainId, limitOrderProtocol, zeroPadValue(toBeHex(BigInt(salt)), 32)],
      ),
    );
  }

  const signRead = (wallet: BaseWallet, type: string, issuedAt: number | bigint, salt: string) => {
    const struct = abi.encode(['bytes32', 'uint256'], [id(`${type}(uint256 issuedAt)`), issuedAt]);
    return sign(wallet, digestOf(saltedDomain(salt, 'bytes32'), keccak256(struct)));
  };
  const hashOrder = (order: OrderTerms) => digestOf(orderDomain, orderEncoder.hash(lowercase(order)));
  return {
    /** EIP-712 digest of an order: its hash. @throws Error where it is none */
    hashOrder,
    signOrder: (wallet: BaseWallet, order: OrderTerms) => sign(wallet, hashOrder(order)),
    signCancellation(wallet: BaseWallet, orderHash: string, salt: string, saltType: 'uint256' | 'bytes32' = 'uint256') {
      const struct = abi.encode(['bytes32', 'bytes32'], [id('OrderCancellationRequest(bytes32 orderHash)'), orderHash]);
      return sign(wallet, digestOf(saltedDomain(salt, saltType), keccak256(struct)));
    },
    signOrderRequest(wallet: BaseWallet, orderHash: string, issuedAt: number | bigint, salt: string) {
      const type = id('GetLimitOrderRequest(bytes32 orderHash,uint256 issuedAt)');
      const struct = abi.encode(['bytes32', 'bytes32', 'uint256'], [type, orderHash, issuedAt]);
      return sign(wallet, digestOf(saltedDomain(salt, 'bytes32'), keccak256(struct)));
    },
    signList: (wallet: BaseWallet, issuedAt: number | bigint, salt: string) =>
      signRead(wallet, 'GetLimitOrdersRequest', issuedAt, salt),
    /** @param type `Name(type field,…)`, in whose order the values are */
    signMessage(wallet: BaseWallet, type: string, values: readonly unknown[]) {
      const [name = '', fields = ''] = type.replace(')', '').split('(');
      const named = fields.split(',').map((field) => field.split(' ') as [string, string]);
      const message = Object.fromEntries(named.map(([, field], index) => [field, values[index]]));
      const types = { [name]: named.map(([fieldType, field]) => ({ name: field, type: fieldType })) };
      return sign(wallet, TypedDataEncoder.hash(domain, types, message));
    },
    signStream: (wallet: BaseWallet, issuedAt: number | bigint, salt: string) =>
      signRead(wallet, 'StreamLimitOrdersRequest', issuedAt, salt),
    signHistory: (wallet: BaseWallet, issuedAt: number | bigint, salt: string) =>
      signRead(wallet, 'GetLimitOrderHistoryRequest', issuedAt, salt),
  };
}

/** Ethers would check the case of an address. */
function lowercase({ making, taking, maker, permittedTaker, ...rest }: OrderTerms): OrderTerms {
  const amountOf = ({ token, amount }: OrderTerms['making']) => ({ token: token.toLowerCase(), amount });
  return {
    ...rest,
    making: amountOf(making),
    taking: amountOf(taking),
    maker: maker.toLowerCase(),
    permittedTaker: permittedTaker.toLowerCase(),
  };
}
