import {
  ContractFactory,
  formatEther,
  getCreateAddress,
  type JsonRpcProvider,
  type TransactionResponse,
  type Wallet,
} from 'ethers';
import { type Addresses, type Creation, contractAt, isCodeOf } from './plan-contracts.js';

/** Multicall3 is at this address on most chains, Kaia among them. */
export const WELL_KNOWN_MULTICALL = '0xca11bde05977b3631167028862be2a173976ca11';

/** How many of the account's newest transactions are searched for contracts that they made. */
const NONCES_MAX = 500;
const RECEIPT_MS_MAX = 120_000;
/** The gas limit in percent of the estimate: the next block may need more than the newest one. */
const GAS_PERCENT = 120n;

/** Nothing was deployed, or not all. The message says what was made and what was not. */
export class DeploymentError extends Error {}

/** The contracts that exist, and those to make. */
export interface Deployment {
  readonly found: Addresses;
  readonly missing: readonly Creation[];
  /** All contracts; the missing ones with the addresses that they will have. */
  readonly addresses: Addresses;
  readonly firstNonce: number;
  /** In wei: what the account must hold to send all that is missing, and its balance. */
  readonly cost: bigint;
  readonly balance: bigint;
}

/**
 * Finds what the account has made already, and what the rest will cost. Sends nothing.
 * @throws DeploymentError if transactions of the account wait, or it holds too little
 */
export async function planDeployment(wallet: Wallet, creations: readonly Creation[]): Promise<Deployment> {
  const provider = providerOf(wallet);
  const [firstNonce, pendingNonce, balance] = await Promise.all([
    provider.getTransactionCount(wallet.address, 'latest'),
    provider.getTransactionCount(wallet.address, 'pending'),
    provider.getBalance(wallet.address),
  ]);
  if (pendingNonce > firstNonce) {
    throw new DeploymentError(
      `${wallet.address} has ${pendingNonce - firstNonce} pending transactions, from nonce ${firstNonce} on: wait for them, or replace them. Nothing was sent`,
    );
  }
  const found = await findContracts(wallet, creations, firstNonce);
  const missing = creations.filter(({ name }) => found[name] === undefined);
  const planned = missing.map(({ name }, index) => {
    const address = getCreateAddress({ from: wallet.address, nonce: firstNonce + index }).toLowerCase();
    return [name, address] as const;
  });
  const addresses = { ...found, ...Object.fromEntries(planned) };
  const gas = await Promise.all(missing.map((creation) => gasOf(creation, addresses, wallet)));
  const price = await provider.getFeeData();
  const cost = gas.reduce((sum, each) => sum + each, 0n) * (price.maxFeePerGas ?? price.gasPrice ?? 0n);
  if (cost > balance) {
    throw new DeploymentError(
      `${wallet.address} holds ${formatEther(balance)} coins, and ${formatEther(cost)} are needed: ${missing.length} contracts are missing. Nothing was sent`,
    );
  }
  return { found, missing, addresses, firstNonce, cost, balance };
}

/**
 * Deploys what is missing, and reads all of it back.
 * @param onSent called once everything is sent
 * @throws DeploymentError naming what was made and what was not
 */
export async function deployMissing(
  wallet: Wallet,
  creations: readonly Creation[],
  { missing, addresses, firstNonce }: Deployment,
  onSent: () => Promise<unknown> = async () => undefined,
): Promise<void> {
  const sent: { readonly name: string; readonly transaction: TransactionResponse }[] = [];
  const outcome = async (reason: string) => {
    const codes = await Promise.all(
      missing.map(({ name }) =>
        providerOf(wallet)
          .getCode(addresses[name] ?? '')
          .catch(() => '0x'),
      ),
    );
    const made = missing.flatMap(({ name }, at) => (codes[at] === '0x' ? [] : `${name} at ${addresses[name]}`));
    const lacking = missing.flatMap(({ name }, at) => (codes[at] === '0x' ? name : []));
    const inDoubt = lacking.length > 0 && sent.length > 0 ? ' Some may still come: look before you try again.' : '';
    return new DeploymentError(
      `${reason}. Made: ${made.join(', ') || 'nothing'}. Not made: ${lacking.join(', ') || 'nothing'}.${inDoubt}`,
    );
  };
  try {
    for (const [index, creation] of missing.entries()) {
      const transaction = await wallet.sendTransaction({
        ...(await creationOf(creation, addresses)),
        gasLimit: await gasOf(creation, addresses, wallet),
        nonce: firstNonce + index,
      });
      sent.push({ name: creation.name, transaction });
    }
    if (sent.length > 0) await onSent();
    for (const { name, transaction } of sent) {
      const receipt = await transaction.wait(1, RECEIPT_MS_MAX);
      if (receipt?.status !== 1) throw new Error(`${name} was reverted (${transaction.hash})`);
    }
  } catch (error) {
    throw await outcome(error instanceof Error ? error.message : String(error));
  }
  for (const creation of creations) {
    if (!(await isThere(creation, addresses[creation.name] ?? '', addresses, wallet))) {
      throw await outcome(`${creation.name} cannot be read back at ${addresses[creation.name]}`);
    }
  }
}

/** Finds the contracts that the account made, by their code and their answers. Anybody may have made Multicall3. */
async function findContracts(wallet: Wallet, creations: readonly Creation[], nonces: number): Promise<Addresses> {
  const provider = providerOf(wallet);
  const from = Math.max(0, nonces - NONCES_MAX);
  const made = Array.from({ length: nonces - from }, (_, index) =>
    getCreateAddress({ from: wallet.address, nonce: from + index }).toLowerCase(),
  );
  const candidates = [WELL_KNOWN_MULTICALL, ...made];
  const codes = await Promise.all(candidates.map((address) => provider.getCode(address)));
  const found: Record<string, string> = {};
  for (const creation of creations) {
    for (const [at, address] of candidates.entries()) {
      const isKnown = creation.name === 'Multicall3' && address === WELL_KNOWN_MULTICALL && codes[at] !== '0x';
      const isMade = isCodeOf(creation, codes[at] ?? '0x');
      if (isKnown || (isMade && (await isThere(creation, address, found, wallet)))) {
        found[creation.name] = address;
        break;
      }
    }
  }
  return found;
}

async function isThere(creation: Creation, address: string, addresses: Addresses, wallet: Wallet): Promise<boolean> {
  const code = await providerOf(wallet).getCode(address);
  if (code === '0x') return false;
  return creation.isSame(contractAt(creation, address, wallet), addresses).catch(() => false);
}

async function gasOf(creation: Creation, addresses: Addresses, wallet: Wallet): Promise<bigint> {
  return ((await wallet.estimateGas(await creationOf(creation, addresses))) * GAS_PERCENT) / 100n;
}

function creationOf({ artifact, args }: Creation, addresses: Addresses) {
  return new ContractFactory(artifact.abi, artifact.bytecode).getDeployTransaction(...args(addresses));
}

function providerOf(wallet: Wallet): JsonRpcProvider {
  if (wallet.provider === null) throw new Error('the account is connected to no node');
  return wallet.provider as JsonRpcProvider;
}
