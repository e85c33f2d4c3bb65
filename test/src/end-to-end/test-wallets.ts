import { beforeAll, expect, test } from '@jest/globals';
import { createClient, type MakerbookClient, type SignedOrder } from '@makerbook/client';
import { deployArtifacts } from '@makerbook/contracts-evm';
import { Contract, ContractFactory, Interface, Wallet } from 'ethers';
import { admitMaker } from '../kit/admit-maker.js';
import { eventually } from '../kit/eventually.js';
import { giveCoins } from '../kit/give-coins.js';
import type { WholeStack } from './open-whole.js';

const { abi, bytecode } = deployArtifacts.TestWallet;
const erc20 = new Interface(deployArtifacts.TestToken.abi);

/**
 * Tests orders of a contract wallet from POST to their fill, and what becomes of them when the wallet changes its mind.
 */
export function testWallets(whole: () => WholeStack): void {
  /** Pays for every transaction, and is the taker. */
  let account: ReturnType<typeof Wallet.createRandom>;
  let owner: ReturnType<typeof Wallet.createRandom>;
  let wallet: Contract;
  let client: MakerbookClient;
  const tokenAt = (index: number) => whole().stack.addresses.tokens[index]?.address ?? '';

  async function send(target: Contract, method: string, ...args: unknown[]): Promise<void> {
    const { chain } = whole();
    const { hash } = await target.getFunction(method).send(...args);
    await chain.mine();
    await eventually(async () => (await chain.provider.getTransactionReceipt(hash))?.status, 1);
  }
  beforeAll(async () => {
    const { stack, chain } = whole();
    [account, owner] = [Wallet.createRandom(chain.provider), Wallet.createRandom()];
    await giveCoins(chain.provider, account.address);
    const deployed = await new ContractFactory(abi, bytecode, account).deploy(owner.address);
    await chain.mine();
    const maker = await deployed.getAddress();
    await eventually(async () => (await chain.provider.getCode(maker)) !== '0x', true);
    wallet = new Contract(maker, abi, account);
    for (const index of [0, 1]) {
      const token = new Contract(tokenAt(index), erc20, account);
      await send(token, 'mint', index === 0 ? maker : account.address, 1_000n);
      if (index === 1) await send(token, 'approve', stack.addresses.limitOrderProtocol, 1_000n);
    }
    const approval = erc20.encodeFunctionData('approve', [stack.addresses.limitOrderProtocol, 1_000n]);
    await send(wallet, 'execute', tokenAt(0), approval);
    await admitMaker(maker, stack.operatorEnvironment);
    client = createClient({ ...stack.addresses, signer: owner, maker, timeoutMs: 60_000 });
  });

  const place = async (): Promise<SignedOrder> => {
    const order = await client.signOrder({
      making: { token: tokenAt(0), amount: 100n },
      taking: { token: tokenAt(1), amount: 50n },
      expiresAt: (await whole().chain.nowSeconds()) + 3600,
    });
    // The wallet looks only at its owner's signature.
    const longer: SignedOrder = { ...order, signature: `${order.signature}${'5a'.repeat(300)}` };
    await eventually(
      () =>
        client.placeOrders([longer]).then(
          () => 'placed',
          ({ code }) => code,
        ),
      'placed',
    );
    return longer;
  };
  const isInFeed = ({ orderHash }: SignedOrder, status: string) =>
    eventually(async () => whole().feed.last(orderHash), status);

  test('a contract wallet’s order is ACTIVE, and filled with what the router’s feed has', async () => {
    const { feed, stack } = whole();
    const placed = await place();
    await isInFeed(placed, 'ACTIVE');
    const entry = feed.entry(placed.orderHash);
    const protocol = new Contract(stack.addresses.limitOrderProtocol, deployArtifacts.LimitOrderProtocol.abi, account);
    await send(protocol, 'fillOrder', entry?.order, entry?.signature, 40n, 20n);
    await eventually(async () => feed.entry(placed.orderHash)?.remainingMakingAmount, '0x3c');
    await send(protocol, 'fillOrder', entry?.order, entry?.signature, 60n, 30n);
    await isInFeed(placed, 'gone FILLED');
    expect(await client.findOrder(placed.orderHash)).toMatchObject({ status: 'FILLED', signature: placed.signature });
    expect((await client.readHistory({ happened: ['FILLED'] })).entries).toHaveLength(2);
  });

  test('its orders are VALIDATING from the block on in which it has another owner, and ACTIVE again when it changes back', async () => {
    const [placed, other] = [await place(), await place()];
    for (const each of [placed, other]) await isInFeed(each, 'ACTIVE');
    await send(wallet, 'setOwner', account.address);
    for (const each of [placed, other]) await isInFeed(each, 'VALIDATING');
    // The previous owner can neither list nor cancel.
    await expect(client.listOrders()).rejects.toMatchObject({ code: 'invalid_signature' });
    const gone = [{ orderHash: placed.orderHash, salt: placed.order.salt }];
    await expect(client.cancelOrders(gone)).rejects.toMatchObject({ code: 'invalid_signature' });
    await send(wallet, 'setOwner', owner.address);
    await isInFeed(other, 'ACTIVE');
    expect((await client.listOrders()).records.map(({ orderHash, status }) => [orderHash, status])).toEqual(
      [placed, other].map(({ orderHash }) => [orderHash, 'ACTIVE']),
    );
    expect(await client.cancelOrders(gone)).toEqual([{ orderHash: placed.orderHash, status: 'CANCELLED' }]);
    await client.cancelAll();
    for (const each of [placed, other]) await isInFeed(each, 'gone CANCELLED');
    for await (const { event } of client.streamOrders()) {
      expect(event).toBe('snapshot');
      break;
    }
  });
}
