import {
  cancelAllRequestTypes,
  cancelKeysRequestTypes,
  fillCapRequestTypes,
  heartbeatRequestTypes,
  keysRequestTypes,
} from '@makerbook/contracts-evm/typed-data';
import type { CancelKeysAnswer, CancelledAll, FillCapAnswer, HeartbeatAnswer } from '@makerbook/contracts-http';
import { paths } from '@makerbook/contracts-http/paths';
import {
  quantity,
  readAddress,
  readArray,
  readFields,
  readToken,
  readUint256,
  readWhole,
  type Uint256,
  UNIX_MS,
  UNIX_SECONDS,
  type Whole,
  ZERO_ADDRESS,
} from '@makerbook/contracts-primitives';
import { callService, readObject } from './call-service.js';
import type { CancelParts } from './cancel-orders.js';

/** The orders to cancel: all of the maker's, unless tokens are named. */
export interface CancelAllScope {
  /** The token that the orders sell. */
  readonly making?: string;
  /** The token that the orders want. */
  readonly taking?: string;
  /**
   * Cancels orders accepted up to this time, in milliseconds since 1970. Default: now, by the service's clock. A time
   * up to a minute ahead also cancels orders whose POST is still in flight.
   */
  readonly untilMs?: Whole;
}

/** Addresses that may read for the maker: lists, account, stream, history and reports of orders. */
export interface Readers {
  readonly listKeys?: readonly string[];
  readonly streamKeys?: readonly string[];
  readonly historyKeys?: readonly string[];
}

/** How much of a token may be filled within a window, in its smallest unit. Amount 0 or window 0 removes the cap. */
export interface FillCap {
  /** The token that the orders sell. */
  readonly token: string;
  readonly amount: Uint256;
  /** At most a week. */
  readonly windowSeconds: Whole;
}

/** The service refuses a message issued further ahead of its clock. */
const AHEAD_MS_MAX = 5_000;
const WINDOW_SECONDS = { unit: 'seconds', min: 0, max: 604_800 };

const readAddresses = (field: string, given: readonly string[]) =>
  readArray(field, given).map((key, index) => readAddress(`${field}[${index}]`, key));

/** Messages about all orders of a maker. A repeat is harmless, so a retry sends the same message. */
export function createExits({ signing, again, calling, clock, maker }: CancelParts) {
  let lastMs = 0;
  /** The newest message counts, so each is newer than the last, unless the last has a time of a wrong clock. */
  const issuedNow = async () => {
    const nowMs = await clock.nowMs();
    lastMs = lastMs > nowMs + AHEAD_MS_MAX ? nowMs : Math.max(nowMs, lastMs + 1);
    return lastMs;
  };
  const send = <T extends object>(path: string, body: object): Promise<T> =>
    again(async () => readObject<T>(await callService({ method: 'POST', path, body }, calling)));
  return {
    async cancelAll({ making, taking, untilMs }: CancelAllScope = {}): Promise<CancelledAll> {
      const tokens = {
        // The zero address would mean any token.
        ...(making !== undefined && { making: readToken('making', making) }),
        ...(taking !== undefined && { taking: readToken('taking', taking) }),
      };
      const until = untilMs === undefined ? await clock.latestMs() : readWhole('untilMs', untilMs, UNIX_MS);
      const named = { maker: await maker(), ...tokens, untilMs: until };
      const message = { making: ZERO_ADDRESS, taking: ZERO_ADDRESS, ...named };
      const signature = await signing.signMessage(cancelAllRequestTypes, message);
      return send(paths.cancelAll, { ...named, signature });
    },

    async sendHeartbeat(time: Whole): Promise<HeartbeatAnswer> {
      const cancelAt = readWhole('cancelAt', time, { ...UNIX_SECONDS, orZero: true });
      const message = { maker: await maker(), cancelAt, issuedAtMs: await issuedNow() };
      const signature = await signing.signMessage(heartbeatRequestTypes, message);
      return send(paths.heartbeat, { ...message, signature });
    },

    async nameCancelKeys(given: readonly string[], readers?: Readers): Promise<CancelKeysAnswer> {
      const keys = readAddresses('keys', given);
      const { listKeys = [], streamKeys = [], historyKeys = [] } = readFields('readers', readers ?? {});
      const read = {
        listKeys: readAddresses('listKeys', listKeys),
        streamKeys: readAddresses('streamKeys', streamKeys),
        historyKeys: readAddresses('historyKeys', historyKeys),
      };
      const message = { maker: await maker(), keys, ...(readers && read), issuedAtMs: await issuedNow() };
      const signature = await signing.signMessage(readers ? keysRequestTypes : cancelKeysRequestTypes, message);
      return send(paths.cancelKeys, { ...message, signature });
    },

    async setFillCap(cap: FillCap): Promise<FillCapAnswer> {
      const { token, amount, windowSeconds } = readFields('cap', cap);
      const terms = {
        token: readToken('token', token),
        amount: quantity(readUint256('amount', amount)),
        windowSeconds: readWhole('windowSeconds', windowSeconds, WINDOW_SECONDS),
      };
      const message = { maker: await maker(), ...terms, issuedAtMs: await issuedNow() };
      const signature = await signing.signMessage(fillCapRequestTypes, message);
      return send(paths.fillCap, { ...message, signature });
    },
  };
}
