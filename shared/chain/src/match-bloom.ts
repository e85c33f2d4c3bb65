import { hexToBytes, keccak256 } from '@makerbook/contracts-evm';
import type { Hex } from '@makerbook/contracts-primitives';

/**
 * True if a block with this `logsBloom` can have a log with this address or topic. True may be wrong. False is right,
 * as long as the chain fills its blooms.
 */
export function bloomHolds(logsBloom: Hex, value: Hex): boolean {
  const hash = keccak256(hexToBytes(value));
  // Checks three bits, each named by eleven bits of the hash. Bit 0 is the last one of the bloom.
  return [0, 2, 4].every((at) => {
    const bit = (((hash[at] ?? 0) << 8) | (hash[at + 1] ?? 0)) & 2047;
    const digit = logsBloom.at(-1 - (bit >> 2)) ?? '0';
    return ((Number.parseInt(digit, 16) >> (bit & 3)) & 1) === 1;
  });
}
