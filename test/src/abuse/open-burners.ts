import { paths } from '@makerbook/contracts-http';
import type { Address } from '@makerbook/contracts-primitives';
import { id, JsonRpcProvider } from 'ethers';
import type { Bench } from '../bench/open-bench.js';
import { admitMaker } from '../kit/admit-maker.js';
import { openSender } from '../kit/send-requests.js';
import { bodyOf, createMakers, createOrderSigner, type MakerKey, postOf } from '../kit/sign-orders.js';
import type { Burners } from './attacks.js';

const TOKENS = 40;
const ORDERS_OF_WALLET = 300;
const ORDERS_PER_POST = 100;

/** Loops until 10,000 gas are left. Nothing asks for more gas than a call of a wallet may take. */
const burn = (at: string) => `5b6127105a1160${at}57`;
/** Accepts every signature, and logs when it is called without data. */
const ACCEPTS = `0x3615601c57${burn('05')}631626ba7e60e01b5f5260205ff35b5f5fa000`;
/** Accepts none. */
const REFUSES = `0x${burn('00')}60205ff3`;
/** Never answers. Logs a transfer to a caller that sends no data. */
const TOKEN = `0x36156009575b6005565b335f7f${id('Transfer(address,address,uint256)').slice(2)}60205fa300`;

/** Opens two contract wallets whose checks burn gas, and a maker of tokens whose balances burn gas. All have orders. */
export async function openBurners({ stack, chain, domain, token }: Bench): Promise<Burners> {
  const { baseUrl, rpcUrl, tokens } = stack.addresses;
  const provider = new JsonRpcProvider(rpcUrl);
  const sender = openSender(Number(new URL(baseUrl).port));
  const [accepting, refusing, holder, stranger] = createMakers(4) as [MakerKey, MakerKey, MakerKey, MakerKey];
  const burning = createMakers(TOKENS).map(({ address }) => address);
  const other = (tokens[1]?.address ?? '') as Address;
  try {
    await provider.send('anvil_setCode', [accepting.address, ACCEPTS]);
    await provider.send('anvil_setCode', [refusing.address, REFUSES]);
    for (const address of burning) await provider.send('anvil_setCode', [address, TOKEN]);
    await chain.giveGas(holder.address);
    const addresses = [accepting, refusing, holder].map(({ address }) => address);
    await admitMaker(addresses, stack.operatorEnvironment);
    const sign = createOrderSigner(domain, token, other);
    const signMany = (maker: MakerKey) => Array.from({ length: ORDERS_PER_POST }, () => sign(maker));
    // Sign with the key of another address, so that the wallet has to be asked.
    const signFor = ({ address }: MakerKey) => signMany({ key: stranger.key, address });
    for (let placed = 0; placed < ORDERS_OF_WALLET; placed += ORDERS_PER_POST)
      await sender.send(postOf(signFor(accepting)));
    const known = signMany(holder);
    await sender.send(postOf(known));
    await sender.send(postOf(burning.map((making) => createOrderSigner(domain, making, other)(holder))));
    const call = (to: string) => ({ from: holder.address, to, gas: '0x186a0' });
    return {
      rpcUrl,
      wallet: [call(accepting.address)],
      tokens: burning.map(call),
      refused: { path: paths.limitOrders, body: bodyOf(signFor(refusing)).toString() },
      known: { path: paths.limitOrders, body: bodyOf(known).toString() },
    };
  } finally {
    sender.close();
    provider.destroy();
  }
}
