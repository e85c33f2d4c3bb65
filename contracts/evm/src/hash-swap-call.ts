import {
  POOL_BYTES,
  putQuote,
  putRoute,
  QUOTE_WORDS,
  ROUTE_POOLS_MAX,
  type SwapCall,
  type UnsignedSwapCall,
} from './encode-swap-call.js';
import { createSigningMessage, hashDomain } from './hash-order.js';
import { keccak256, keccak256OfText } from './keccak.js';
import { navigatorDomainName, quoteV0Types, quoteV1Types, type SigningDomain, typeString } from './typed-data.js';
import { createWordBuffer, putUint256 } from './word-buffer.js';

export interface SwapCallHasher {
  /** The Navigator's domain, hashed; 32 bytes. */
  readonly domainSeparator: Uint8Array;
  /** The digest over everything in the call except its signature: 32 new bytes. */
  hashSwapCall(call: UnsignedSwapCall): Uint8Array;
}

/** Hashes swap calls of one Navigator: `verifyingContract` is its address. The type's name tells the version. */
export function createSwapCallHasher(domain: SigningDomain): SwapCallHasher {
  const domainSeparator = hashDomain(domain, navigatorDomainName(domain.serviceName));
  const message = createSigningMessage(domainSeparator);
  const quoteWords = {
    v0: createQuoteWords('v0', typeString(quoteV0Types)),
    v1: createQuoteWords('v1', typeString(quoteV1Types)),
  };
  const route = new Uint8Array(ROUTE_POOLS_MAX * POOL_BYTES);
  const minimum = createWordBuffer(1);
  const noMinimum = keccak256(new Uint8Array(0));

  return {
    domainSeparator,
    hashSwapCall(call) {
      const words = quoteWords[call.version];
      const dynamicParts = 32 * (1 + QUOTE_WORDS[call.version]);
      putQuote(words, 1, call);
      putRoute(route, 0, call.pools);
      words.bytes.set(keccak256(route.subarray(0, call.pools.length * POOL_BYTES)), dynamicParts);
      if (call.minOutput !== undefined) putUint256(minimum, 0, call.minOutput);
      words.bytes.set(call.minOutput === undefined ? noMinimum : keccak256(minimum.bytes), dynamicParts + 32);
      message.set(keccak256(words.bytes), 34);
      return keccak256(message);
    },
  };
}

function createQuoteWords(version: SwapCall['version'], type: string) {
  const words = createWordBuffer(1 + QUOTE_WORDS[version] + 2);
  words.bytes.set(keccak256OfText(type));
  return words;
}
