import type { Hex } from '@makerbook/contracts-primitives';
import type { Chance } from '@makerbook/parts';
import { type BaseWallet, id, toBeHex, Wallet } from 'ethers';
import {
  type Asked,
  asCancellations,
  type ExitKind,
  nowSeconds,
  ORDERS_PATH,
  type RequestMaker,
  type SignedItem,
} from '../kit/make-requests.js';
import { type FuzzedOperation, judgeCancelled, judgePatched, judgePlaced } from './judge-answers.js';

/** The requests to mutate, for each operation. They are valid, or wrong only in their signature. */
export interface Bases {
  readonly makers: readonly BaseWallet[];
  readonly operations: readonly Base[];
  /** Lets the order be cancelled from now on. */
  notePlaced(item: SignedItem): void;
}

export interface Base extends FuzzedOperation {
  make(random: Chance): Asked;
}

const LIST_SECONDS_MAX = 15;
const POOL = 40;

/**
 * @param seed of the keys: the same seed has the same makers
 * @param codesOf the codes of an operation
 */
export function makeBases(
  make: RequestMaker,
  seed: string,
  makerCount: number,
  codesOf: (name: string) => readonly string[],
): Bases {
  const makers = Array.from({ length: makerCount }, (_, n) => new Wallet(id(`fuzz ${seed} ${n}`)));
  const stranger = new Wallet(id(`fuzz ${seed} stranger`));
  const addresses = new Set(makers.map(({ address }) => address.toLowerCase()));
  const placed = new Map<string, SignedItem>();
  const { lists, orders, quotes, cancels, replacements } = openPools(make, makers, stranger, placed);
  const pickMaker = (random: Chance) => random.pickAny(makers) ?? stranger;
  const exits = (kind: ExitKind) => (random: Chance) =>
    make.exit(kind, pickMaker(random), random.pick([{}, { more: 1 }]));
  const reads = (what: 'account' | 'history' | 'stream') => (random: Chance) => make[what](pickMaker(random));
  const base = (name: string, makeOne: Base['make'], judge: FuzzedOperation['judge']): Base => ({
    name,
    codes: new Set(codesOf(name)),
    make: makeOne,
    judge,
  });
  return {
    makers,
    notePlaced(item) {
      placed.set(item.orderHash, item);
      // The oldest were cancelled long ago.
      for (const orderHash of placed.keys()) if (placed.size > 5_000) placed.delete(orderHash);
    },
    operations: [
      base(
        'placeOrders',
        (random) => make.post(Array.from({ length: random.oneIn(3) ? 1 + random.below(3) : 1 }, () => orders(random))),
        judgePlaced(make, addresses),
      ),
      base(
        'listOrders',
        (random) => lists(random),
        (_request, body) => (Array.isArray(JSON.parse(body)) ? undefined : 'it is no list'),
      ),
      base(
        'cancelOrders',
        (random) => cancels(random),
        judgeCancelled((orderHash) => placed.has(orderHash)),
      ),
      base(
        'cancelOrdersByPost',
        (random) => asCancellations(cancels(random)),
        judgeCancelled((orderHash) => placed.has(orderHash)),
      ),
      ...Object.entries(documents).map(([name, target]) =>
        base(
          name,
          () => ({ method: 'GET', target }),
          // Perhaps there was no fill.
          (_request, body) => (body.length === 0 && name !== 'streamFills' ? 'it is empty' : undefined),
        ),
      ),
      ...(['cancel-all', 'heartbeat', 'cancel-keys', 'fill-cap'] as const).map((kind) =>
        base(operationOf[kind], exits(kind), () => undefined),
      ),
      base('readAccount', reads('account'), () => undefined),
      base('readHistory', reads('history'), () => undefined),
      base('streamOrders', reads('stream'), () => undefined),
      base(
        'replaceOrders',
        (random) => replacements(random),
        () => undefined,
      ),
      base(
        'findOrder',
        (random) => make.find(pickMaker(random), `0x${random.wide().toString(16).padStart(64, '0')}`),
        () => undefined,
      ),
      base('patchQuote', (random) => make.patch(quotes(random), amountOf(random)), judgePatched),
    ],
  };
}

function openPools(
  make: RequestMaker,
  makers: readonly BaseWallet[],
  stranger: Wallet,
  placed: ReadonlyMap<string, SignedItem>,
) {
  const pickMaker = (random: Chance) => random.pickAny(makers) ?? stranger;
  const lists = createPool((random) => {
    const maker = random.oneIn(10) ? stranger : pickMaker(random);
    return make.list(maker, nowSeconds() - (random.oneIn(10) ? 3_000 : 1));
  }, LIST_SECONDS_MAX);
  const orders = createPool((random) => {
    const maker = random.oneIn(10) ? stranger : pickMaker(random);
    const change = random.oneIn(4) ? random.pick(oddTerms)() : {};
    const item = make.order(maker, { salt: toBeHex(random.wide()), ...change });
    return random.oneIn(10) ? { ...item, signature: make.sign.signOrder(stranger, item.order) } : item;
  });
  const quotes = createPool((random) =>
    make.quote({
      deadline: random.oneIn(10) ? 1n : 4_000_000_000n,
      minOutput: random.oneIn(10) ? undefined : BigInt(random.below(1_000_000)),
      ...(random.oneIn(10) ? { key: stranger.privateKey as Hex } : {}),
    }),
  );
  const pickPlaced = (random: Chance) => {
    const item = random.oneIn(3) ? undefined : random.pickAny([...placed.values()]);
    const signer = makers.find(({ address }) => address.toLowerCase() === item?.order.maker.toLowerCase()) ?? stranger;
    return { item: item ?? make.order(stranger), signer };
  };
  const cancels = createPool((random) => {
    const { item, signer } = pickPlaced(random);
    return make.cancel([item], random.oneIn(5) ? stranger : signer);
  }, 5);
  const replacements = createPool((random) => {
    const { item, signer } = pickPlaced(random);
    return make.replace([item], [random.oneIn(5) ? orders(random) : make.order(signer)], signer);
  }, 1);
  return { lists, orders, quotes, cancels, replacements };
}

const operationOf = {
  'cancel-all': 'cancelAllOrders',
  heartbeat: 'setSwitch',
  'cancel-keys': 'nameCancelKeys',
  'fill-cap': 'setFillCap',
} as const;

const documents = {
  describeService: `${ORDERS_PATH}/info?a=b`,
  readOpenApi: '/openapi.json?a=b',
  readAsyncApi: '/asyncapi.json?a=b',
  readDocs: '/docs?a=b',
  readSnapshot: '/v0alpha/book/snapshot',
  streamBook: `/v0alpha/book/stream?after=${'-,'.repeat(11)}-:-`,
  listFills: `/v0alpha/book/fills?making=0x${'1a'.repeat(20)}&maker=0x${'2b'.repeat(20)}&limit=7&cursor=9:1`,
  streamFills: `/v0alpha/book/fills/stream?after=${'-,'.repeat(11)}-:-`,
  listPairs: '/v0alpha/book/pairs',
  showLadder: `/v0alpha/book/0x${'1a'.repeat(20)}-0x${'2b'.repeat(20)}?limit=7`,
  quoteAmount: `/v0alpha/book/quote?tokenIn=0x${'2b'.repeat(20)}&tokenOut=0x${'1a'.repeat(20)}&amountIn=0x7&backups=30&limit=1&amountOutPerMillionGas=0x1`,
};

const oddTerms: readonly [() => object, ...(() => object)[]] = [
  () => ({ expiresAt: '0x1' }),
  () => ({ expiresAt: toBeHex(nowSeconds() + 1) }),
  () => ({ expiresAt: `0x${'f'.repeat(64)}` }),
  () => ({ nonce: `0x${'f'.repeat(64)}` }),
  () => ({ salt: '0x0' }),
  () => ({ permittedTaker: `0x${'1'.repeat(40)}` }),
  ...['0', 'e', '3'].map((digit) => () => ({ taking: { token: `0x${digit.repeat(40)}`, amount: '0x1' } })),
  () => ({ making: { token: `0x${'2'.repeat(40)}`, amount: '0x0' } }),
  () => ({ making: { token: `0x${'2'.repeat(40)}`, amount: `0x${'f'.repeat(64)}` } }),
];

function amountOf(random: Chance): unknown {
  return random.oneIn(8) ? random.pick<unknown>([7, null, '-1', '0x', '1e9']) : String(random.below(1_000_000));
}

/** Uses each value several times, for this many seconds at most, because signing is expensive. */
function createPool<T>(make: (random: Chance) => T, seconds = 3_600): (random: Chance) => T {
  const pool: { readonly value: T; readonly untilMs: number }[] = [];
  return (random) => {
    const at = random.below(POOL);
    const known = pool[at];
    if (known !== undefined && performance.now() < known.untilMs && !random.oneIn(12)) return known.value;
    const value = make(random);
    pool[at] = { value, untilMs: performance.now() + seconds * 1000 };
    return value;
  };
}
