import { deployArtifacts, limitOrderProtocolFragments } from '@makerbook/contracts-evm';
import type { Hex } from '@makerbook/contracts-primitives';
import type { Chance } from '@makerbook/parts';
import { AbiCoder, concat, getCreateAddress, Interface, type InterfaceAbi, id, toBeHex, Wallet } from 'ethers';
import type { Simulation } from './open-simulation.js';

/** A token, and its name in the trace. */
export interface FixtureToken {
  readonly kind: 'plain' | 'wrapped' | 'fee' | 'rebasing' | 'illBehaved' | 'noContract';
  readonly label: string;
  readonly address: string;
}

/** Makers, tokens and a taker that one seed has for itself. */
export interface Fixture {
  /** Addresses, and keys of theirs. */
  readonly makers: ReadonlyMap<string, Hex>;
  readonly tokens: readonly FixtureToken[];
  readonly taker: string;
}

export const tokenAbi = new Interface([
  ...deployArtifacts.TestToken.abi,
  'function deposit() payable',
  'function withdraw(uint256)',
  'function setIndex(uint256)',
  'function setFeeBasisPoints(uint256)',
  'function setBalanceAnswer(uint8)',
  'function setAllowanceAnswer(uint8)',
  'function setTransfersReturnFalse(bool)',
] as InterfaceAbi);
export const protocolAbi = new Interface(limitOrderProtocolFragments);

export const MAX_AMOUNT = 2n ** 256n - 1n;
const COINS = toBeHex(10n ** 24n);
const STOCK = 10n ** 30n;

/** Deploys tokens of every kind, admits makers, and gives the taker all it needs to fill any order. */
export async function openFixture(simulation: Simulation, seed: number, chance: Chance): Promise<Fixture> {
  const { chain, protocol } = simulation;
  const keys = Array.from(
    { length: chance.between(3, 7) },
    (_, index) => id(`simulation ${seed} maker ${index}`) as Hex,
  );
  const makers = new Map(keys.map((key) => [new Wallet(key).address.toLowerCase(), key]));
  const taker = new Wallet(id(`simulation ${seed} taker`)).address.toLowerCase();
  for (const account of [...makers.keys(), taker]) await chain.ask('anvil_setBalance', account, COINS);

  const { TestToken, WrappedNative, FeeOnTransferToken, RebasingToken, IllBehavedToken } = deployArtifacts;
  const kinds = [
    ['plain', TestToken],
    ['plain', TestToken],
    ['wrapped', WrappedNative],
    ['fee', FeeOnTransferToken],
    ['rebasing', RebasingToken],
    ['illBehaved', IllBehavedToken],
  ] as const;
  const tokens: FixtureToken[] = [{ kind: 'noContract', label: 'noContract', address: `0x${'ee'.repeat(20)}` }];
  for (const [nonce, [kind, { bytecode }]] of kinds.entries()) {
    const args = AbiCoder.defaultAbiCoder().encode(
      kind === 'wrapped' ? ['string', 'string'] : ['string', 'string', 'uint8'],
      kind === 'wrapped' ? ['Wrapped', 'WRP'] : [kind, kind, 18],
    );
    await chain.send({ from: taker, data: concat([bytecode, args]) });
    const address = getCreateAddress({ from: taker, nonce }).toLowerCase();
    tokens.push({ kind, label: kind === 'plain' ? `plain${nonce}` : kind, address });
  }
  await chain.mine(1);
  for (const { kind, address } of tokens) {
    if (kind === 'noContract') continue;
    const mint = tokenAbi.encodeFunctionData('mint', [taker, STOCK]);
    await chain.send({ from: taker, to: address, data: mint });
    const approve = tokenAbi.encodeFunctionData('approve', [protocol, MAX_AMOUNT]);
    await chain.send({ from: taker, to: address, data: approve });
    for (const maker of makers.keys()) {
      // Most pairs can be filled at the start, so that fills and what follows them are not rare.
      if (chance.oneIn(4)) continue;
      const stock = tokenAbi.encodeFunctionData('mint', [maker, BigInt(chance.between(50, 400))]);
      await chain.send({ from: taker, to: address, data: stock });
      const allowed = chance.oneIn(2) ? MAX_AMOUNT : BigInt(chance.between(50, 400));
      const allow = tokenAbi.encodeFunctionData('approve', [protocol, allowed]);
      await chain.send({ from: maker, to: address, data: allow });
    }
  }
  await chain.mine(1);
  await simulation.admit([...makers.keys()]);
  return { makers, tokens, taker };
}
