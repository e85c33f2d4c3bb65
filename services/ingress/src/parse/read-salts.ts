import { cancelBySaltRequestTypes, createStructHasher, type SigningDomain } from '@makerbook/contracts-evm';
import { type Address, type Hex, quantity } from '@makerbook/contracts-primitives';
import { isRefusal, parseAs, type Refusal, refuseFields } from '@makerbook/http';
import type { z } from 'zod';
import { refuseUntil, type SignedMessage } from './read-exits.js';

/** A request for all orders of a maker that have one of some salts, parsed. */
export interface AskedSalts extends SignedMessage {
  /** Minimal hex, each once. */
  readonly salts: readonly Hex[];
  /** Leaves out orders that were accepted later. */
  readonly untilMs: number;
  /** What a replacement expects to be left of all orders together. Undefined: all of it. */
  readonly remaining: bigint | undefined;
}

interface SaltsInput {
  readonly maker: Address;
  readonly salts: readonly Hex[];
  readonly untilMs: number;
  readonly signature: Hex;
  readonly remainingMakingAmount?: Hex | undefined;
}

/** @param saltsMax how many salts the request may name */
export type ReadSalts = (
  body: unknown,
  schema: z.ZodType<SaltsInput>,
  saltsMax: number,
  nowMs: number,
) => AskedSalts | Refusal;

/** True if a body, or the list of a replacement, names salts and no hashes. */
export function namesSalts(body: unknown): boolean {
  return typeof body === 'object' && body !== null && 'salts' in body;
}

export function createSaltReader(domain: SigningDomain): ReadSalts {
  const hash = createStructHasher(domain, cancelBySaltRequestTypes);
  return (body, schema, saltsMax, nowMs) => {
    const asked = parseAs(schema, body);
    if (isRefusal(asked)) return asked;
    const { untilMs, signature, remainingMakingAmount: left } = asked;
    if (asked.salts.length > saltsMax) {
      return refuseFields([{ path: ['salts'], message: `holds more than ${saltsMax} items` }]);
    }
    const untimely = refuseUntil(untilMs, nowMs);
    if (untimely !== undefined) return untimely;
    const maker = asked.maker.toLowerCase() as Address;
    const salts = asked.salts.map((salt) => quantity(BigInt(salt)));
    return {
      maker,
      salts: [...new Set(salts)],
      untilMs,
      remaining: left === undefined ? undefined : BigInt(left),
      digest: hash({ maker, salts, untilMs }),
      signature,
    };
  };
}
