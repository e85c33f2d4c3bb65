import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { askRedis } from '@makerbook/parts';
import { connectPostgres, type Postgres } from '@makerbook/postgres';
import { type BaseWallet, Wallet } from 'ethers';
import { admitMaker } from '../kit/admit-maker.js';
import { eventually } from '../kit/eventually.js';
import { canFillDisk, fillDisk } from '../kit/fill-disk.js';
import {
  type Asked,
  CANCELLATIONS_PATH,
  json,
  ORDERS_PATH,
  requestMaker,
  type SignedItem,
} from '../kit/make-requests.js';
import { type ChaosBed, openBed } from './open-bed.js';
import { runChaos } from './run-chaos.js';

/** One fault of each sort, and everything at once. `npm run chaos` draws from all faults. */
const handful = [
  'SIGKILL everything',
  'SIGSTOP, SIGCONT chain-watcher',
  'SIGKILL chain-watcher-2',
  'connections cut Kafka',
  'packets lost Redis',
  'clock jump ingress',
  'SIGKILL Postgres',
];

/** The time limits of a cancellation add up: two statements, and an append. */
const ANSWER_MS_MAX = 60_000;
const ROUNDS = 2;

let bed: ChaosBed;
let make: ReturnType<typeof requestMaker>;
/** The test's own connections, apart from those of the services. */
let postgres: Postgres;
const wallet = () => new Wallet(Wallet.createRandom().privateKey);
const makers: readonly [BaseWallet, BaseWallet] = [wallet(), wallet()];
const [maker, other] = makers;

beforeAll(async () => {
  bed = await openBed({ brokers: 1 });
  const { addresses, operatorEnvironment } = bed.stack;
  make = requestMaker(addresses);
  postgres = connectPostgres({
    url: addresses.databaseUrl,
    poolMax: 1,
    connectTimeoutMs: 60_000,
    statementTimeoutMs: 600_000,
    onConnectionLost() {},
  });
  await admitMaker(
    makers.map(({ address }) => address),
    operatorEnvironment,
  );
});

afterAll(async () => {
  await postgres?.close();
  await bed?.stop();
});

/** A request to each endpoint. POSTs and cancellations come in each form. */
function requestsOf(open: readonly SignedItem[]): Readonly<Record<string, Asked>> {
  const [first, second, ...unknown] = [...open, make.order(maker), make.order(maker)] as [SignedItem, SignedItem];
  return {
    'a POST': make.post([make.order(maker)]),
    'a POST of two makers': make.post([make.order(maker), make.order(other)]),
    'a DELETE': make.cancel([first], maker),
    'a DELETE of unknown hashes': make.cancel(unknown, maker),
    'a cancellation with its salt': cancelWithSalt(second),
    'a list': make.list(maker),
    'a patch': make.patch(make.quote(), '2'),
    info: { method: 'GET', target: `${ORDERS_PATH}/info` },
    'openapi.json': { method: 'GET', target: '/openapi.json' },
    'asyncapi.json': { method: 'GET', target: '/asyncapi.json' },
    docs: { method: 'GET', target: '/docs' },
  };
}

function cancelWithSalt({ orderHash, order }: SignedItem): Asked {
  const signature = make.sign.signCancellation(maker, orderHash, order.salt);
  const body = JSON.stringify([{ orderHash, signature, salt: order.salt }]);
  return { method: 'POST', target: CANCELLATIONS_PATH, headers: json, body };
}

interface Answer {
  readonly what: string;
  readonly status: number;
  readonly tookMs: number;
  readonly text: string;
}

async function ask(what: string, { method, target, headers = {}, body }: Asked): Promise<Answer> {
  const startedAt = performance.now();
  const response = await fetch(bed.stack.addresses.baseUrl + target, {
    method,
    headers,
    ...(body === undefined ? {} : { body: String(body) }),
    signal: AbortSignal.timeout(3 * ANSWER_MS_MAX),
  });
  const text = await response.text();
  return { what, status: response.status, tookMs: performance.now() - startedAt, text };
}

const askAll = (open: readonly SignedItem[]): Promise<readonly Answer[]> =>
  Promise.all(Object.entries(requestsOf(open)).map(([what, asked]) => ask(what, asked)));

async function placeTwo(): Promise<readonly SignedItem[]> {
  const items = [make.order(maker), make.order(maker)];
  const placed = await ask('a POST', make.post(items));
  if (placed.status !== 200) throw new Error(placed.text);
  return items;
}

async function answerNormally(): Promise<readonly string[]> {
  const answers = await askAll(await placeTwo());
  return answers.filter(({ status }) => status !== 200).map(({ what, text }) => `${what}: ${text}`);
}

interface Outage {
  readonly what: string;
  /** Requests that are still answered with 200. */
  readonly works: readonly string[];
  readonly fails: readonly string[];
  /** @returns a function that ends the outage */
  begin(): Promise<() => Promise<unknown> | unknown>;
}

const unstored = ['a patch', 'openapi.json', 'asyncapi.json', 'docs'];
const posts = ['a POST', 'a POST of two makers'];
const cancellations = ['a DELETE', 'a cancellation with its salt'];

const outages: readonly Outage[] = [
  {
    what: 'Postgres takes no writes',
    works: [...unstored, 'a cancellation with its salt'],
    fails: posts,
    async begin() {
      const configure = async (how: string) => {
        await postgres.query(`alter system ${how}`);
        await postgres.query('select pg_reload_conf()');
      };
      await configure('set default_transaction_read_only = on');
      return () => configure('reset default_transaction_read_only');
    },
  },
  {
    what: 'a table of Postgres is locked',
    works: [...unstored, ...cancellations],
    fails: posts,
    async begin() {
      const { promise: isLocked, resolve: locked } = Promise.withResolvers<void>();
      const { promise: isOver, resolve: end } = Promise.withResolvers<void>();
      const holding = postgres.transaction(async (query) => {
        await query('lock table budgets in access exclusive mode');
        locked();
        await isOver;
      });
      await Promise.race([isLocked, holding]);
      return () => {
        end();
        return holding;
      };
    },
  },
  {
    what: 'Postgres hangs',
    works: [...unstored, 'a cancellation with its salt', 'a list'],
    fails: [...posts, 'a DELETE', 'a DELETE of unknown hashes'],
    async begin() {
      await bed.signal('Postgres', 'SIGSTOP');
      return () => bed.signal('Postgres', 'SIGCONT');
    },
  },
  {
    what: 'the disk of Postgres is full',
    works: [...unstored, 'a cancellation with its salt'],
    fails: [],
    begin: () => fillDiskOf('Postgres'),
  },
  {
    what: 'Redis is full',
    works: [...unstored, ...posts, ...cancellations, 'a DELETE of unknown hashes', 'a list', 'info'],
    fails: [],
    async begin() {
      const { redisUrl } = bed.stack.addresses;
      await askRedis(redisUrl, 'CONFIG SET maxmemory-policy noeviction');
      await askRedis(redisUrl, 'CONFIG SET maxmemory 1mb');
      return () => askRedis(redisUrl, 'CONFIG SET maxmemory 0');
    },
  },
  {
    what: 'Kafka hangs',
    works: [...unstored, 'a list', 'info'],
    fails: [...posts, ...cancellations],
    async begin() {
      await bed.signal('Kafka', 'SIGSTOP');
      return () => bed.signal('Kafka', 'SIGCONT');
    },
  },
  {
    what: 'the disk of Kafka is full',
    works: [...unstored, 'a list', 'info'],
    // Kafka ends by the full disk, and may be back with room before the last round.
    fails: [],
    begin: () => fillDiskOf('Kafka'),
  },
];

/** The part may end by the full disk, and is then restarted with room. */
async function fillDiskOf(part: string): Promise<() => void> {
  const pid = bed.pid(part);
  if (!canFillDisk(pid)) throw new Error('needs `prlimit` (util-linux), and the right to use it');
  return fillDisk(pid);
}

test.each(outages.map((outage) => [outage.what, outage] as const))(
  '%s: no endpoint answers 500, or later than its time limits',
  async (_, { works, fails, begin }) => {
    await eventually(answerNormally, []);
    const rounds = await Promise.all(Array.from({ length: ROUNDS }, placeTwo));
    const answers: Answer[] = [];
    const end = await begin();
    try {
      for (const open of rounds) answers.push(...(await askAll(open)));
    } finally {
      await end();
    }
    const wrong = answers.filter(({ what, status, tookMs }) => {
      if (tookMs > ANSWER_MS_MAX) return true;
      if (works.includes(what)) return status !== 200;
      if (fails.includes(what)) return status !== 503;
      return status !== 200 && status !== 503;
    });
    expect(
      wrong.map(({ what, status, tookMs, text }) => `${what}: ${status} in ${Math.round(tookMs)} ms, ${text}`),
    ).toEqual([]);
    await bed.ready();
    await eventually(answerNormally, []);
    // Cancelled orders stay cancelled.
    const cancelled = rounds.flatMap(([, second], round) => {
      const { status } = answers.filter(({ what }) => what === 'a cancellation with its salt')[round] as Answer;
      return status === 200 && second !== undefined ? [second] : [];
    });
    await eventually(async () => {
      const { text } = await ask('a list', make.list(maker));
      return cancelled.filter(({ orderHash }) => text.includes(orderHash)).length;
    }, 0);
    for (const item of cancelled) expect((await ask('a POST', make.post([item]))).text).toContain('"duplicate"');
  },
  600_000,
);

test('under load and random faults no order is lost, invented or doubled, and each is as the chain says', async () => {
  const lines: string[] = [];
  const { failure, findings, differences, held, told, tally } = await runChaos(bed, {
    seed: 1,
    minutes: 10,
    makers: 3,
    // The load does not wait for answers, and must not overload a machine that runs other tests too.
    actionsPerSecond: 6,
    roundsMax: handful.length,
    holdMsMax: 1_500,
    isWanted: ({ kind, part }) => handful.includes(`${kind} ${part}`),
    report: (line) => lines.push(line),
  });
  expect({ failure, findings, differences, lines }).toEqual({
    failure: undefined,
    findings: [],
    differences: [],
    lines,
  });
  expect(held).toBeGreaterThan(100);
  expect(told).toBeGreaterThan(50);
  expect(tally['chain mined']).toBeGreaterThan(10);
  expect(tally['CAP set']).toBeGreaterThan(3);
  expect(tally['BEAT set']).toBeGreaterThan(1);
});
