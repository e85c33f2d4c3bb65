import type { Address, Hex, MonotonicMs } from '@makerbook/contracts-primitives';
import { createNode } from './call-node.js';
import { isValidSignature, SIGNATURE_ACCEPTED } from './encode-calls.js';
import { ChainContradiction, RpcRefused, RpcUnavailable } from './failures.js';
import type { RpcOutcome, RpcRequest } from './read-outcomes.js';
import { createPlaces } from './take-places.js';

const ACCEPTED = '';
const NO_CONTRACT = "no contract at the maker's address answers isValidSignature";
/** The end of a signature of a wallet that is not deployed yet (ERC-6492). */
const UNDEPLOYED = '6492'.repeat(16);
const DEPLOY = 'deploy the wallet first, and send the signature without the wrapper of ERC-6492';

/** A signature that the contract at an address may accept (EIP-1271), for any of the digests. */
export interface WalletQuestion {
  readonly wallet: Address;
  /** 32 bytes each. */
  readonly digests: readonly Hex[];
  readonly signature: Hex;
}

/** The client on whose behalf contracts are asked. */
export interface WalletAsker {
  /** The address of the client. */
  readonly client: string;
  /** The request cancels orders. One place is kept for such requests. */
  readonly isExit: boolean;
  /** Charges the client for this many calls, before they are made. */
  readonly charge: (calls: number) => Promise<void>;
}

/** The first question that a contract refuses, and why, in a sentence. */
export interface WalletRefusal {
  readonly at: number;
  readonly fault: string;
}

/**
 * Asks contracts whether they accept signatures, at the newest block. Asks each question once, and stops at the first
 * refusal.
 * @returns `unknown` if a contract cannot be asked for now
 */
export type AskWallets = (
  questions: readonly WalletQuestion[],
  asker: WalletAsker,
) => Promise<'accepted' | 'unknown' | WalletRefusal>;

/** Access to contract wallets. */
export interface Wallets {
  readonly ask: AskWallets;
  close(): void;
}

export interface WalletOptions {
  /** The URLs for `createNode`. If there are none, no contract is asked. */
  readonly urls: readonly string[];
  readonly chainId: number;
  /** The time limit of one request to a node. */
  readonly timeoutMs: number;
  readonly monotonicMs: () => MonotonicMs;
  /** Called with the reason if an answer is unknown. */
  readonly onAway: (reason: string) => void;
}

/** The gas of one question. The chain-watcher gives the same, so what is accepted here is accepted there. */
export const WALLET_GAS = 200_000;
/** Only its gas bounds what a contract returns: a few hundred kB for each call. */
const QUESTIONS_PER_REQUEST_MAX = 10;
/** Limits of the requests that ask contracts at once. */
const places = { ofWalletMax: 8, inAllMax: 64, waitingMax: 7 };

/** @returns undefined if there is no node: then only keys sign */
export function openWallets({ urls, onAway, ...options }: WalletOptions): Wallets | undefined {
  if (urls.length === 0) return undefined;
  // A request that has a place must not wait for a connection.
  const node = createNode({ urls, connectionsMax: places.inAllMax, ...options });
  const { take } = createPlaces(places);

  /** Asks one question first, because most refusals come there. */
  const askInTurn = async (
    questions: readonly (readonly [at: number, WalletQuestion])[],
    charge: WalletAsker['charge'],
  ): Promise<'accepted' | WalletRefusal> => {
    for (let from = 0, to = 1; from < questions.length; from = to, to += QUESTIONS_PER_REQUEST_MAX) {
      const some = questions.slice(from, to);
      const calls = some.flatMap(([, question]) => requestsOf(question));
      await charge(calls.length);
      const faults = (await node.callEach(calls, (outcomes) => outcomes.map(faultOf))).values();
      for (const [at, { digests, signature }] of some) {
        const own = digests.map(() => faults.next().value ?? '');
        if (own.includes(ACCEPTED)) continue;
        const [fault = ''] = own;
        const isUndeployed = fault === NO_CONTRACT && signature.endsWith(UNDEPLOYED);
        return { at, fault: isUndeployed ? `${fault}: ${DEPLOY}` : fault };
      }
    }
    return 'accepted';
  };

  const ask: AskWallets = async (questions, { client, isExit, charge }) => {
    const wallets = questions.map(({ wallet }) => wallet);
    const leave = await take(wallets, client, isExit);
    if (leave === undefined) {
      onAway('too many contracts are being asked');
      return 'unknown';
    }
    try {
      return await askInTurn(withoutRepeats(questions), charge);
    } catch (error) {
      if (!isAway(error)) throw error;
      onAway(error.message);
      return 'unknown';
    } finally {
      leave();
    }
  };
  return { ask, close: node.close.bind(node) };
}

function withoutRepeats(questions: readonly WalletQuestion[]): (readonly [at: number, WalletQuestion])[] {
  const first = new Map<string, readonly [number, WalletQuestion]>();
  for (const [at, question] of questions.entries()) {
    const { wallet, digests, signature } = question;
    const text = [wallet, ...digests, signature].join(' ');
    if (!first.has(text)) first.set(text, [at, question]);
  }
  return [...first.values()];
}

function requestsOf({ wallet, digests, signature }: WalletQuestion): RpcRequest[] {
  return digests.map((digest) => ({
    method: 'eth_call',
    params: [{ ...isValidSignature(wallet, digest, signature), gas: `0x${WALLET_GAS.toString(16)}` }, 'latest'],
  }));
}

function faultOf(outcome: RpcOutcome): string {
  if ('failure' in outcome) return `the maker's contract failed, or needed more than ${WALLET_GAS} gas`;
  const { result } = outcome;
  if (typeof result !== 'string') throw new RpcUnavailable('a node answered eth_call with no bytes');
  if (result === '0x') return NO_CONTRACT;
  const isAccepted = result.length >= 66 && BigInt(result.slice(0, 66)) === SIGNATURE_ACCEPTED;
  return isAccepted ? ACCEPTED : "the maker's contract does not accept it";
}

function isAway(error: unknown): error is Error {
  return error instanceof RpcUnavailable || error instanceof RpcRefused || error instanceof ChainContradiction;
}
