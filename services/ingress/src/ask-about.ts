import type { AskWallets, WalletQuestion } from '@makerbook/chain';
import { type Refusal, unavailable } from '@makerbook/http';

/** A signature that no key of the maker has made. */
export interface Doubt extends WalletQuestion {
  /** The item of the request. */
  readonly index: number;
  /** Why no key has made it. */
  readonly fault: string;
}

/**
 * Asks the contracts of the makers about signatures (EIP-1271).
 * @returns the first doubt that stands, with both faults; 503 where that is not known; undefined where all are accepted
 */
export async function askAbout(askWallets: AskWallets, doubts: readonly Doubt[]): Promise<Doubt | Refusal | undefined> {
  if (doubts.length === 0) return undefined;
  const faults = await askWallets(doubts);
  if (faults === undefined) {
    return unavailable("nothing was stored: whether the maker's contract accepts the signature is not known now");
  }
  const at = faults.findIndex((fault) => fault !== undefined);
  const doubt = doubts[at];
  return doubt && { ...doubt, fault: `${doubt.fault}; ${faults[at]}` };
}
