import type { Address } from '@makerbook/contracts-primitives';

/** The number of places, and how many requests of one client may wait for one. */
interface PlaceLimits {
  readonly ofWalletMax: number;
  readonly inAllMax: number;
  readonly waitingMax: number;
}

/** The requests that wait for the place of one client. */
type Waiting = (() => void)[];

/**
 * Bounds the requests that ask contract wallets at once. A client has one place at a wallet, and one more for exits.
 * Its other requests queue for its place. The last place at a wallet, and the last of all, are for exits.
 */
export function createPlaces({ ofWalletMax, inAllMax, waitingMax }: PlaceLimits) {
  const taken = new Map<Address, Map<string, Waiting>>();
  let takenInAll = 0;

  /** @returns undefined if there is no place: too many have one, or queue for this one */
  async function takeOne(wallet: Address, client: string, isExit: boolean): Promise<(() => void) | undefined> {
    const ofWallet = taken.get(wallet) ?? new Map<string, Waiting>();
    const whose = `${client} ${isExit ? 'exits' : 'others'}`;
    const waiting = ofWallet.get(whose);
    const kept = isExit ? 0 : 1;
    if (waiting !== undefined) {
      if (waiting.length >= waitingMax) return undefined;
      await new Promise<void>((resolve) => waiting.push(resolve));
    } else {
      if (ofWallet.size >= ofWalletMax - kept || takenInAll >= inAllMax - kept) return undefined;
      takenInAll += 1;
      taken.set(wallet, ofWallet.set(whose, []));
    }
    return () => {
      const next = ofWallet.get(whose)?.shift();
      if (next !== undefined) return next();
      takenInAll -= 1;
      ofWallet.delete(whose);
      if (ofWallet.size === 0) taken.delete(wallet);
    };
  }

  return {
    /**
     * Takes a place at each of the wallets, by ascending address, so no two requests wait for each other.
     * @returns a function that leaves the places; undefined if there is none
     */
    async take(wallets: readonly Address[], client: string, isExit: boolean): Promise<(() => void) | undefined> {
      const left: (() => void)[] = [];
      const leave = () => {
        for (const leaveOne of left) leaveOne();
      };
      for (const wallet of [...new Set(wallets)].sort()) {
        const leaveOne = await takeOne(wallet, client, isExit);
        if (leaveOne === undefined) {
          leave();
          return undefined;
        }
        left.push(leaveOne);
      }
      return leave;
    },
  };
}
