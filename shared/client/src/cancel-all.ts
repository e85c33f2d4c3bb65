import {
  cancelAllRequestTypes,
  cancelKeysRequestTypes,
  fillCapRequestTypes,
  heartbeatRequestTypes,
} from '@makerbook/contracts-evm/typed-data';
import type { CancelledAll } from '@makerbook/contracts-http';
import { paths } from '@makerbook/contracts-http/paths';
import { type Address, quantity, ZERO_ADDRESS } from '@makerbook/contracts-primitives';
import { type CallOptions, callService, readObject } from './call-service.js';
import type { CancelParts } from './cancel-orders.js';
import { lowerHex } from './sign-requests.js';

/** The orders that are cancelled: all of the maker, unless tokens are named. */
export interface CancelAllScope {
  /** The token that the orders sell. */
  readonly making?: string;
  /** The token that they want. */
  readonly taking?: string;
  /**
   * Orders that the service accepted by then, in milliseconds since 1970. Default: now, by the service's clock as its answers
   * have told it. A time ahead, by at most a minute, also takes orders whose POST is still on its way.
   */
  readonly untilMs?: number;
}

/** What may be filled of a token, in its smallest unit, within a window. An amount or a window of 0 removes the cap. */
export interface FillCap {
  /** The token that the orders sell. */
  readonly token: string;
  readonly amount: bigint;
  readonly windowSeconds: number;
}

interface ExitParts extends Pick<CancelParts, 'signing' | 'again'> {
  readonly calling: CallOptions;
  readonly now: () => number;
  /** The clock of the service, as its answers have told it. */
  readonly serverNow: () => Promise<number>;
  readonly maker: () => Promise<Address>;
}

/** Messages about all orders of a maker. A repeat is harmless, so each is tried again as it is. */
export function createExits({ signing, again, calling, now, serverNow, maker }: ExitParts) {
  let lastMs = 0;
  /** The newest message counts, so each is newer than the one before. */
  const issuedNow = () => {
    lastMs = Math.max(now(), lastMs + 1);
    return lastMs;
  };
  const send = <T extends object>(path: string, body: object): Promise<T> =>
    again(async () => readObject<T>((await callService({ method: 'POST', path, body }, calling)).text));
  return {
    async cancelAll({ making, taking, untilMs }: CancelAllScope = {}): Promise<CancelledAll> {
      const tokens = {
        ...(making !== undefined && { making: lowerHex(making, 20) }),
        ...(taking !== undefined && { taking: lowerHex(taking, 20) }),
      };
      const named = { maker: await maker(), ...tokens, untilMs: untilMs ?? (await serverNow()) };
      const message = { making: ZERO_ADDRESS, taking: ZERO_ADDRESS, ...named };
      const signature = await signing.signMessage(cancelAllRequestTypes, message);
      return send(paths.cancelAll, { ...named, signature });
    },

    async sendHeartbeat(cancelAt: number): Promise<void> {
      const message = { maker: await maker(), cancelAt, issuedAtMs: issuedNow() };
      const signature = await signing.signMessage(heartbeatRequestTypes, message);
      await send(paths.heartbeat, { ...message, signature });
    },

    async nameCancelKeys(given: readonly string[]): Promise<void> {
      const keys = given.map((key) => lowerHex(key, 20));
      const message = { maker: await maker(), keys, issuedAtMs: issuedNow() };
      const signature = await signing.signMessage(cancelKeysRequestTypes, message);
      await send(paths.cancelKeys, { ...message, signature });
    },

    async setFillCap({ token, amount, windowSeconds }: FillCap): Promise<void> {
      const terms = { token: lowerHex(token, 20), amount: quantity(amount), windowSeconds };
      const message = { maker: await maker(), ...terms, issuedAtMs: issuedNow() };
      const signature = await signing.signMessage(fillCapRequestTypes, message);
      await send(paths.fillCap, { ...message, signature });
    },
  };
}
