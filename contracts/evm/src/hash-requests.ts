import { createSigningMessage } from './hash-order.js';
import { keccak256, keccak256OfText } from './keccak.js';
import {
  DOMAIN_VERSION,
  domainName,
  getAccountRequestTypes,
  getLimitOrderHistoryRequestTypes,
  getLimitOrderRequestTypes,
  getLimitOrdersRequestTypes,
  orderCancellationRequestTypes,
  type SaltType,
  type SigningDomain,
  saltedDomainTypes,
  streamLimitOrdersRequestTypes,
  typeString,
} from './typed-data.js';
import { createWordBuffer, putAddress, putBytesLeftPadded, putUint256, type WordBuffer } from './word-buffer.js';

export interface RequestHashers {
  /**
   * Digest of a list request: 32 new bytes. `issuedAt` in Unix seconds; `salt` at most 32 bytes,
   * padded with zeros on the left.
   */
  hashGetRequest(request: { readonly issuedAt: bigint; readonly salt: Uint8Array }): Uint8Array;
  /** Digest of a request for the account, with the fields of a list request. */
  hashAccountRequest(request: { readonly issuedAt: bigint; readonly salt: Uint8Array }): Uint8Array;
  /** Digest of a request for the history, with the fields of a list request. */
  hashHistoryRequest(request: { readonly issuedAt: bigint; readonly salt: Uint8Array }): Uint8Array;
  /** Digest of a request for a stream, with the fields of a list request. */
  hashStreamRequest(request: { readonly issuedAt: bigint; readonly salt: Uint8Array }): Uint8Array;
  /** Digest of a request for one order: 32 new bytes. `orderHash` has 32 bytes. The rest is as in a list request. */
  hashOrderRequest(request: {
    readonly orderHash: Uint8Array;
    readonly issuedAt: bigint;
    readonly salt: Uint8Array;
  }): Uint8Array;
  /**
   * Digest of one cancellation: 32 new bytes. `orderHash` has 32 bytes, `salt` at most 32, big-endian.
   * Both types of a salt pad to the same word: they differ only in the domain's type.
   */
  hashCancellation(
    request: { readonly orderHash: Uint8Array; readonly salt: Uint8Array },
    saltType: SaltType,
  ): Uint8Array;
}

/**
 * Hashes the kinds of request whose domain has a salt of their own. Lays out all of the domain except the salt
 * beforehand. Throws a RangeError for a salt over 32 bytes or an order hash that is not 32.
 */
export function createRequestHashers(domain: SigningDomain): RequestHashers {
  const domainWords = {
    uint256: createSaltedDomain(domain, 'uint256'),
    bytes32: createSaltedDomain(domain, 'bytes32'),
  };
  const message = createSigningMessage(new Uint8Array(32));
  const orderRequestWords = createWordBuffer(3);
  orderRequestWords.bytes.set(keccak256OfText(typeString(getLimitOrderRequestTypes)));
  const cancellationWords = createWordBuffer(2);
  cancellationWords.bytes.set(keccak256OfText(typeString(orderCancellationRequestTypes)));

  function hashInDomain(salted: WordBuffer, salt: Uint8Array, struct: Uint8Array): Uint8Array {
    putBytesLeftPadded(salted, 5, salt);
    message.set(keccak256(salted.bytes), 2);
    message.set(keccak256(struct), 34);
    return keccak256(message);
  }

  /** Hashes a message that has only `issuedAt`. */
  function createDatedHasher(types: Parameters<typeof typeString>[0]): RequestHashers['hashGetRequest'] {
    const words = createWordBuffer(2);
    words.bytes.set(keccak256OfText(typeString(types)));
    return ({ issuedAt, salt }) => {
      putUint256(words, 1, issuedAt);
      return hashInDomain(domainWords.bytes32, salt, words.bytes);
    };
  }

  return {
    hashGetRequest: createDatedHasher(getLimitOrdersRequestTypes),
    hashAccountRequest: createDatedHasher(getAccountRequestTypes),
    hashHistoryRequest: createDatedHasher(getLimitOrderHistoryRequestTypes),
    hashStreamRequest: createDatedHasher(streamLimitOrdersRequestTypes),
    hashOrderRequest({ orderHash, issuedAt, salt }) {
      putOrderHash(orderRequestWords, orderHash);
      putUint256(orderRequestWords, 2, issuedAt);
      return hashInDomain(domainWords.bytes32, salt, orderRequestWords.bytes);
    },
    hashCancellation({ orderHash, salt }, saltType) {
      putOrderHash(cancellationWords, orderHash);
      return hashInDomain(domainWords[saltType], salt, cancellationWords.bytes);
    },
  };
}

function putOrderHash(words: WordBuffer, orderHash: Uint8Array): void {
  if (orderHash.length !== 32) throw new RangeError('an order hash has 32 bytes');
  words.bytes.set(orderHash, 32);
}

function createSaltedDomain(domain: SigningDomain, saltType: SaltType): WordBuffer {
  const words = createWordBuffer(6);
  words.bytes.set(keccak256OfText(typeString(saltedDomainTypes(saltType))));
  words.bytes.set(keccak256OfText(domainName(domain.serviceName)), 32);
  words.bytes.set(keccak256OfText(DOMAIN_VERSION), 64);
  putUint256(words, 3, BigInt(domain.chainId));
  putAddress(words, 4, domain.verifyingContract);
  return words;
}
