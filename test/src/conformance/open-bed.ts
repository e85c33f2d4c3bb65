import { limitOrderProtocolFragments } from '@makerbook/contracts-evm';
import { type BaseWallet, Contract, JsonRpcProvider, toBeHex, Wallet } from 'ethers';
import { admitMaker, runOperator } from '../kit/admit-maker.js';
import { eventually } from '../kit/eventually.js';
import { bytesOf, requestMaker } from '../kit/make-requests.js';
import { type OpenStack, openStack } from '../kit/open-stack.js';
import { openRaw, type RawAnswer } from '../kit/raw-http.js';
import { type Bed, limits } from './error-rows.js';

const ANSWER_MS_MAX = 120_000;

/** Limits that a few requests reach. With a second trusted proxy a request names its client itself. */
const settings = {
  TRUSTED_PROXY_HOPS: '2',
  GATEWAY_REQUESTS_MAX: '100000000',
  MAX_ORDERS_PER_POST: String(limits.ordersPerPost),
  MAX_OPEN_ORDERS_PER_MAKER: String(limits.openOrders),
  ORDER_BUDGET_BURST: String(limits.burst),
  ORDER_BUDGET_PER_SECOND: '5',
  LIST_BUDGET_BURST: String(limits.listBurst),
  LIST_BUDGET_PER_SECOND: '2',
  CLIENT_REQUESTS_MAX: String(limits.clientRequests),
  CANCEL_REQUESTS_MAX: String(limits.clientRequests),
  PATCH_REQUESTS_MAX: String(limits.clientRequests),
  WALLET_RPC_URL: 'own',
  WALLET_TIMEOUT_MS: '60000',
};

/** A stack with makers of every kind. */
export interface OpenBed extends Bed {
  readonly stack: OpenStack;
  stop(): Promise<void>;
}

export async function openBed(): Promise<OpenBed> {
  const stack = await openStack({ ownParts: false, settings });
  try {
    const wallet = () => new Wallet(Wallet.createRandom().privateKey);
    const makers = {
      maker: wallet(),
      spender: wallet(),
      keeper: wallet(),
      canceller: wallet(),
      contract: wallet(),
      removed: wallet(),
      stranger: wallet(),
    };
    const { stranger: _, removed, ...rest } = makers;
    const admitted = [...Object.values(rest), removed].map(({ address }) => address);
    await admitMaker(admitted, stack.operatorEnvironment);
    await runOperator(['makers', 'remove', removed.address], stack.operatorEnvironment);
    const bed = { make: requestMaker(stack.addresses), makers, send: sender(new URL(stack.addresses.baseUrl)) };
    await raiseNonce(stack, makers.canceller, bed);
    await giveCode(stack, makers.contract);
    const place = async () => codeOf(await bed.send(bed.make.post([bed.make.order(removed)])));
    await eventually(place, 'maker_not_whitelisted');
    return { ...bed, stack, stop: () => stack.stop() };
  } catch (error) {
    await stack.stop();
    throw error;
  }
}

function sender({ hostname, port }: URL): Bed['send'] {
  let clients = 0;
  return async (asked, client = `10.${(++clients >> 16) & 255}.${(clients >> 8) & 255}.${clients & 255}`) => {
    const connection = await openRaw(hostname, Number(port));
    try {
      connection.socket.write(bytesOf(asked, { 'X-Forwarded-For': client }));
      const { answers, end } = await connection.read({ answers: 1, timeoutMs: ANSWER_MS_MAX });
      const [answer] = answers;
      if (answer === undefined) throw new Error(`${asked.method} ${asked.target.slice(0, 100)}: no answer, ${end}`);
      return answer;
    } finally {
      connection.close();
    }
  };
}

/** Places an order, so that the maker's nonce is read, and then cancels all of its orders on the chain. */
async function raiseNonce(
  stack: OpenStack,
  maker: BaseWallet,
  { make, send }: Pick<Bed, 'make' | 'send'>,
): Promise<void> {
  const provider = new JsonRpcProvider(stack.addresses.rpcUrl, undefined, { cacheTimeout: -1, pollingInterval: 100 });
  try {
    await eventually(async () => (await send(make.post([make.order(maker)]))).status, 200);
    await provider.send('anvil_setBalance', [maker.address, toBeHex(10n ** 18n)]);
    const protocol = new Contract(
      stack.addresses.limitOrderProtocol,
      limitOrderProtocolFragments,
      maker.connect(provider),
    );
    await protocol.getFunction('cancelAllOrders').send();
    await eventually(async () => codeOf(await send(make.post([make.order(maker)]))), 'order_cancelled');
  } finally {
    provider.destroy();
  }
}

/** Gives the account code that reverts. From now on it accepts only signatures by its key. */
async function giveCode({ addresses }: OpenStack, { address }: BaseWallet): Promise<void> {
  const provider = new JsonRpcProvider(addresses.rpcUrl);
  await provider.send('anvil_setCode', [address, '0x5f5ffd']);
  provider.destroy();
}

/** The code of a problem; the status of everything else. */
export function codeOf({ status, body }: RawAnswer): string {
  return status === 200 ? '200' : (JSON.parse(body.toString()) as { code: string }).code;
}
