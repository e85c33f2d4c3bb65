import type { Address, Hex } from '@makerbook/contracts-primitives';
import { createNode, type RpcOutcome, type RpcRequest } from './call-node.js';
import { isValidSignature, SIGNATURE_ACCEPTED } from './encode-calls.js';
import { ChainContradiction, RpcRefused, RpcUnavailable } from './failures.js';

/** A signature that the contract at an address may accept (EIP-1271), for any of the digests. */
export interface WalletQuestion {
  readonly wallet: Address;
  /** 32 bytes each. */
  readonly digests: readonly Hex[];
  readonly signature: Hex;
}

/**
 * Asks contracts whether they accept signatures, at the newest block.
 * @returns for each question undefined where the contract accepts, else a sentence why not; undefined for all of them where
 * that cannot be known now
 */
export type AskWallets = (questions: readonly WalletQuestion[]) => Promise<readonly (string | undefined)[] | undefined>;

/** Contract wallets, as they are asked. */
export interface Wallets {
  readonly ask: AskWallets;
  close(): void;
}

export interface WalletOptions {
  /** As of `createNode`. Without one no contract is asked. */
  readonly urls: readonly string[];
  readonly chainId: number;
  /** The time limit of one request to a node. */
  readonly timeoutMs: number;
  readonly nowMs: () => number;
  /** Called with the reason where an answer cannot be known. */
  readonly onAway: (reason: string) => void;
}

/**
 * The gas of one question. The chain-watcher asks the same of the same contract beside other calls, and gives it as much at
 * least: so what is accepted here can be read there.
 */
const WALLET_GAS = 200_000;
/** What a contract returns is bounded by its gas alone: a few hundred kB. */
const CALLS_PER_REQUEST_MAX = 10;
/** Requests of makers under way, those that one wallet is asked for and all. */
const ASKED_OF_WALLET_MAX = 8;
const ASKED_MAX = 64;

/** @returns undefined where there is no node: then keys alone sign */
export function openWallets({ urls, onAway, ...options }: WalletOptions): Wallets | undefined {
  if (urls.length === 0) return undefined;
  const node = createNode({ urls, ...options });
  const asked = new Map<Address, number>();
  let askedNow = 0;

  const call = async (calls: readonly RpcRequest[]): Promise<readonly string[]> => {
    const faults: string[] = [];
    for (let from = 0; from < calls.length; from += CALLS_PER_REQUEST_MAX) {
      const some = calls.slice(from, from + CALLS_PER_REQUEST_MAX);
      faults.push(...(await node.callEach(some, (outcomes) => outcomes.map(faultOf))));
    }
    return faults;
  };

  const ask: AskWallets = async (questions) => {
    const wallets = new Set(questions.map(({ wallet }) => wallet));
    if (askedNow >= ASKED_MAX || [...wallets].some((wallet) => (asked.get(wallet) ?? 0) >= ASKED_OF_WALLET_MAX)) {
      onAway('too many contracts are being asked');
      return undefined;
    }
    askedNow += 1;
    for (const wallet of wallets) asked.set(wallet, (asked.get(wallet) ?? 0) + 1);
    try {
      const faults = (await call(questions.flatMap(requestsOf))).values();
      return questions.map(({ digests }) => {
        const own = digests.map(() => faults.next().value);
        return own.every((fault) => fault !== ACCEPTED) ? own[0] : undefined;
      });
    } catch (error) {
      if (!isAway(error)) throw error;
      onAway(error.message);
      return undefined;
    } finally {
      askedNow -= 1;
      for (const wallet of wallets) {
        const left = (asked.get(wallet) ?? 0) - 1;
        if (left > 0) asked.set(wallet, left);
        else asked.delete(wallet);
      }
    }
  };
  return { ask, close: node.close.bind(node) };
}

const ACCEPTED = '';

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
  if (result === '0x') return "no contract at the maker's address answers isValidSignature";
  const isAccepted = result.length >= 66 && BigInt(result.slice(0, 66)) === SIGNATURE_ACCEPTED;
  return isAccepted ? ACCEPTED : "the maker's contract does not accept it";
}

function isAway(error: unknown): error is Error {
  return error instanceof RpcUnavailable || error instanceof RpcRefused || error instanceof ChainContradiction;
}
