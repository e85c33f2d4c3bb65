import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type Address, deployArtifacts } from '@makerbook/contracts-evm';
import type { NonceManager } from 'ethers';
import { addressOf, Stage, until } from './testing/stage-chain.js';

const ERC20 = deployArtifacts.TestToken.abi;
let stage: Stage;
let maker: NonceManager;
let token: Address;

beforeAll(async () => {
  stage = await Stage.open();
  token = await stage.deploy(deployArtifacts.TestToken, 'Making', 'MAK', 18);
  maker = await stage.createAccount();
  await stage.send(maker, token, ERC20, 'approve', stage.protocolAddress, 10n ** 30n);
  await stage.send(stage.taker, token, ERC20, 'mint', addressOf(maker), 100n);
});
afterAll(() => stage.close());

describe('a hash that was removed and is forgotten', () => {
  test('submitted again, keeps no other order VALIDATING', async () => {
    const repeated = await stage.sign(maker, { making: { token, amount: 10n } });
    const first = await stage.watch();
    await stage.submit(repeated);
    await until('it is read', () => stage.state(repeated.orderHash)?.status === 'ACTIVE');
    const cause = { kind: 'request', requestId: 'stage' } as const;
    const { orderHash } = repeated;
    await stage.append({
      type: 'OrderCancelled',
      maker: addressOf(maker),
      orderHash,
      expiresAtSeconds: 4_000_000_000,
      cause,
    });
    await until('it is gone', () => stage.state(repeated.orderHash)?.status === 'REMOVED');
    await stage.mine(3);
    await stage.settled();
    await first.stop();
    await stage.markPositions();

    const second = await stage.watch();
    try {
      await stage.mine();
      await stage.settled();
      // The fold takes it once; the watcher does not know that, and reads its pair.
      const before = stage.facts.length;
      await stage.submit(repeated);
      await until('its pair is read', () =>
        stage.facts.slice(before).some(({ fact }) => fact.type === 'BalanceChanged'),
      );
      const joined = await stage.submit(await stage.sign(maker, { making: { token, amount: 10n } }));
      // Pairs that were joined are read with every tenth block.
      await stage.mine(10);
      await until('it is judged', () => stage.state(joined)?.status === 'ACTIVE');
      expect(stage.state(repeated.orderHash)).toEqual({ status: 'REMOVED', reason: 'CANCELLED' });
    } finally {
      await second.stop();
    }
  });
});
