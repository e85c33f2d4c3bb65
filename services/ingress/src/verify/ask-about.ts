import type { AskWallets, WalletQuestion } from '@makerbook/chain';
import { type ApiRequest, type Refusal, unavailable } from '@makerbook/http';

/** A signature that no key of the maker has made. */
export interface Doubt extends WalletQuestion {
  /** The index of the item in the request. */
  readonly index: number;
  /** Why no key has made the signature. */
  readonly fault: string;
}

/**
 * Asks the contracts of the makers about signatures (EIP-1271), for the client of a request.
 * @param isExit true if the request takes orders back
 * @returns the first signature that a contract refuses, with both faults; 503 if that is unknown; undefined if all are
 * accepted
 */
export async function askAbout(
  askWallets: AskWallets,
  doubts: readonly Doubt[],
  { client, charge }: Pick<ApiRequest, 'client' | 'charge'>,
  isExit: boolean,
): Promise<Doubt | Refusal | undefined> {
  if (doubts.length === 0) return undefined;
  const answer = await askWallets(doubts, { client, charge, isExit });
  if (answer === 'accepted') return undefined;
  if (answer === 'unknown') {
    return unavailable("nothing was stored: whether the maker's contract accepts the signature is not known now");
  }
  const doubt = doubts[answer.at];
  return doubt && { ...doubt, fault: `${doubt.fault}; ${answer.fault}` };
}
