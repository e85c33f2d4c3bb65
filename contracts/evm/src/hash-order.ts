import { keccak256, keccak256OfText } from './keccak.js';
import {
  DOMAIN_VERSION,
  domainName,
  domainTypes,
  type Order,
  orderTypes,
  type SigningDomain,
  type TokenAmount,
  typeString,
} from './typed-data.js';
import { createWordBuffer, putAddress, putBytesLeftPadded, putUint256 } from './word-buffer.js';

export interface OrderHasher {
  /** The domain's struct hash, 32 bytes. */
  readonly domainSeparator: Uint8Array;
  /**
   * The order's hash: the EIP-712 digest that the maker signs and the contract emits; 32 new bytes.
   * Throws a RangeError or TypeError for a value that is no uint256 or address: callers parse orders first.
   */
  hashOrder(order: Order): Uint8Array;
}

/**
 * Hashes orders of one domain. Lays out beforehand all that does not change, so a hash costs little more than four
 * keccaks. The generic typed-data encoders cost some eighty times as much. They serve as the oracle in tests.
 */
export function createOrderHasher(domain: SigningDomain): OrderHasher {
  const domainSeparator = hashDomain(domain);
  const amountWords = createWordBuffer(3);
  amountWords.bytes.set(keccak256OfText(typeString({ TokenAmount: orderTypes.TokenAmount })));
  const orderWords = createWordBuffer(8);
  orderWords.bytes.set(keccak256OfText(typeString(orderTypes)));
  const message = createSigningMessage(domainSeparator);

  function hashAmount({ token, amount }: TokenAmount): Uint8Array {
    putAddress(amountWords, 1, token);
    putUint256(amountWords, 2, amount);
    return keccak256(amountWords.bytes);
  }

  return {
    domainSeparator,
    hashOrder(order) {
      putUint256(orderWords, 1, order.salt);
      putUint256(orderWords, 2, order.nonce);
      putUint256(orderWords, 3, order.expiresAt);
      orderWords.bytes.set(hashAmount(order.making), 128);
      orderWords.bytes.set(hashAmount(order.taking), 160);
      putAddress(orderWords, 6, order.maker);
      putAddress(orderWords, 7, order.permittedTaker);
      message.set(keccak256(orderWords.bytes), 34);
      return keccak256(message);
    },
  };
}

/** The struct hash of a domain without a salt, 32 bytes. `name` defaults to the order protocol's. */
export function hashDomain(domain: SigningDomain, name: string = domainName(domain.serviceName)): Uint8Array {
  const words = createWordBuffer(5);
  words.bytes.set(keccak256OfText(typeString(domainTypes)));
  putBytesLeftPadded(words, 1, keccak256OfText(name));
  putBytesLeftPadded(words, 2, keccak256OfText(DOMAIN_VERSION));
  putUint256(words, 3, BigInt(domain.chainId));
  putAddress(words, 4, domain.verifyingContract);
  return keccak256(words.bytes);
}

/** `0x1901 ‖ domain separator ‖ struct hash`: the separator from 2, the struct hash from 34. */
export function createSigningMessage(domainSeparator: Uint8Array): Uint8Array {
  const message = new Uint8Array(66);
  message[0] = 0x19;
  message[1] = 0x01;
  message.set(domainSeparator, 2);
  return message;
}
