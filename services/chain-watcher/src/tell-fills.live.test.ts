import { expect, test } from '@jest/globals';
import { deployArtifacts } from '@makerbook/contracts-evm';
import type { Address } from '@makerbook/contracts-primitives';
import { until } from '@makerbook/parts';
import type { NonceManager } from 'ethers';
import { eachOnAStage } from './testing/each-on-a-stage.js';
import { addressOf, type SignedOrder, type Stage } from './testing/stage-chain.js';

const ERC20 = deployArtifacts.TestToken.abi;

let stage: Stage;
let maker: NonceManager;
let [making, taking] = ['0x', '0x'] as [Address, Address];

const { watch } = eachOnAStage(
  (own) => {
    stage = own;
  },
  async (chain) => {
    maker = await chain.createAccount();
    making = await chain.deploy(deployArtifacts.TestToken, 'Making', 'MAK', 18);
    taking = await chain.deploy(deployArtifacts.TestToken, 'Taking', 'TAK', 18);
    for (const [owner, token] of [
      [maker, making],
      [chain.taker, taking],
    ] as const) {
      await chain.send(chain.taker, token, ERC20, 'mint', addressOf(owner), 1000n);
      await chain.send(owner, token, ERC20, 'approve', chain.protocolAddress, 1000n);
    }
  },
);

const sign = () =>
  stage.sign(maker, { making: { token: making, amount: 10n }, taking: { token: taking, amount: 20n } });
const fill = ({ order, signature }: SignedOrder, amount: bigint) => {
  const { abi } = deployArtifacts.LimitOrderProtocol;
  return stage.send(stage.taker, stage.protocolAddress, abi, 'fillOrder', order, signature, amount, 100n);
};
const told = () => stage.facts.flatMap(({ fact }) => (fact.type === 'MakerObserved' ? (fact.fills ?? []) : []));
/** What has to be told of a fill that was just mined. */
async function must({ orderHash }: SignedOrder, amounts: object) {
  const block = await stage.provider.getBlock('latest');
  const place = { blockNumber: block?.number, timestamp: block?.timestamp, transactionHash: block?.transactions[0] };
  const tokens = { makingToken: making, takingToken: taking, taker: addressOf(stage.taker) };
  return { orderHash, ...tokens, ...place, ...amounts, logIndex: 0 };
}

test('an order that is filled before it is posted is told in full, the first of its maker too, and so is what was missed', async () => {
  const watcher = await watch();
  await stage.settled();
  const cause = { kind: 'operator', commandId: 'c' } as const;
  await stage.put({ type: 'MakerAdmitted', maker: addressOf(maker), cause });
  await until('it is in the log', () => stage.facts.some(({ fact }) => fact.type === 'MakerAdmitted'));
  const signed = await sign();
  await fill(signed, 4n);
  const first = await must(signed, { makingAmount: '0x4', takingAmount: '0x8', remaining: '0x6' });
  await stage.settled();
  await stage.mine();
  await stage.settled();
  expect(told()).toEqual([first]);
  await watcher.stop();
  await fill(signed, 6n);
  const second = await must(signed, { makingAmount: '0x6', takingAmount: '0xc', remaining: '0x0' });
  await stage.mine(3);
  await watch({ CATCH_UP_BLOCKS_MAX: '0' });
  await stage.settled();
  expect(told().filter(({ blockNumber }) => blockNumber === second.blockNumber)).toEqual([second]);
});
