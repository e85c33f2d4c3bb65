import { deployArtifacts, hexToBytes, type UnsignedSwapCall } from '@makerbook/contracts-evm';
import { problemKinds } from '@makerbook/contracts-http';
import type { Hex } from '@makerbook/contracts-primitives';
import { createPatchQuote, ingressSettings, loadQuoteSigner, type PatchQuote, runIngress } from '@makerbook/ingress';
import { deployContracts } from '@makerbook/local-stack';
import { type AnvilPart, findFreePorts, startAnvil } from '@makerbook/parts';
import { readSettings } from '@makerbook/settings';
import { silentLogger } from '@makerbook/telemetry';
import { Interface, id } from 'ethers';
import { createQuoteIssuer } from '../quotes/issue-quotes.js';
import { type Market, openMarket } from '../quotes/open-market.js';
import { mutations } from './mutate-quotes.js';
import { createRandom, type Random } from './random.js';

export interface FuzzOptions {
  /** The same seed gives the same payloads in the same order. */
  readonly seed: number;
  /** Payloads in all. */
  readonly count: number;
  /** Only this payload, in full: to look at one that failed. */
  readonly only?: number;
}

/** What became of the payloads. */
export interface FuzzReport {
  readonly count: number;
  /** By code of the answer, `ok` for a patched call. */
  readonly answers: Readonly<Record<string, number>>;
  /**
   * Sent through HTTP as well, and answered the same, or refused there for what a body may hold; what is no JSON, through
   * HTTP alone.
   */
  readonly throughHttp: number;
  /** Patched calls that the contract was asked about, and took. */
  readonly acceptedByContract: number;
  /** CPU of the dearest answer, in milliseconds. */
  readonly worstCpuMs: number;
  /** Each that should not be, with seed and number. */
  readonly failures: readonly string[];
}

export const CPU_MS_MAX = 50;
const HTTP_SHARE = 50;
const BODY_BYTES_MAX = 262_144;
const CALLS_AT_ONCE = 200;
const FAILURES_MAX = 20;
const SERVICE_NAME = 'Fuzz';
const keys = { issuer: id('issuer') as Hex, service: id('service') as Hex, stranger: id('stranger') as Hex };

/** Whether HTTP had reason to refuse a body before anybody looked into it. */
function isOutOfBounds(
  body: string,
  { status, detail }: { readonly status: number; readonly detail: string },
): boolean {
  if (status === 413) return Buffer.byteLength(body) > BODY_BYTES_MAX;
  return status === 400 && /nested deeper than|has more than \d+ members|holds more than \d+ values/.test(detail);
}

/**
 * Sends mutated quotes to the function that answers PATCH /v0/quote/data, a share of them through the service's HTTP as
 * well, and asks a real Navigator about each one that was patched. Never a 5xx, never over 50 ms of CPU, and whatever is
 * answered with 200 differs in minimum and signature alone and is taken by the contract.
 */
export async function fuzzPatchQuote({ seed, count, only }: FuzzOptions): Promise<FuzzReport> {
  const chain = await startAnvil();
  try {
    const stage = await openStage(chain);
    const run = createRun(stage, seed);
    try {
      const to = only === undefined ? count : only + 1;
      for (let number = only ?? 0; number < to && run.failures.length < FAILURES_MAX; number += 1)
        await run.send(number);
      await run.askContract();
      return run.report(to - (only ?? 0));
    } finally {
      await stage.close();
    }
  } finally {
    await chain.stop();
  }
}

interface Stage {
  readonly market: Market;
  readonly patch: PatchQuote;
  readonly url: string;
  readonly seeds: readonly [Hex, ...Hex[]];
  close(): Promise<void>;
}

async function openStage({ rpcUrl }: AnvilPart): Promise<Stage> {
  const issuers = (navigator: string, key: Hex) =>
    createQuoteIssuer({ serviceName: SERVICE_NAME, chainId: 8217, navigator }, key);
  const signers = [issuers(`0x${'0'.repeat(40)}`, keys.issuer), issuers(`0x${'0'.repeat(40)}`, keys.service)];
  const contracts = await deployContracts({
    rpcUrl,
    serviceName: SERVICE_NAME,
    quoteSigners: signers.map(({ address }) => address),
  });
  const market = await openMarket({ rpcUrl, ...contracts });
  const [kafka, postgres] = await findFreePorts(2);
  const settings = readSettings(ingressSettings, {
    SERVICE_NAME,
    LIMIT_ORDER_PROTOCOL_ADDRESS: contracts.limitOrderProtocol,
    NAVIGATOR_ADDRESS: contracts.navigator,
    QUOTE_SIGNERS: contracts.quoteSigners.join(),
    QUOTE_SIGNER_KEY: keys.service,
    // Nobody is there: this endpoint needs nobody.
    KAFKA_BROKERS: `127.0.0.1:${kafka}`,
    DATABASE_URL: `postgres://127.0.0.1:${postgres}/none`,
    PORT: '0',
    OPS_PORT: '0',
    PATCH_REQUESTS_MAX: '100000000',
    CLIENT_REQUESTS_MAX: '100000000',
  });
  const signer = loadQuoteSigner(settings);
  if ('missing' in signer) throw new Error(`missing: ${signer.missing}`);
  const service = await runIngress(settings, {
    logger: silentLogger,
    serveMetrics: (_request, response) => void response.end(),
  });

  const seeds: Hex[] = [];
  for (const version of ['v0', 'v1'] as const) {
    for (const hops of [1, 2] as const) {
      const quote = market.quote(version, hops, 10n ** 15n);
      const variants: UnsignedSwapCall[] = [
        quote,
        { ...quote, minOutput: undefined },
        { ...quote, minOutput: 2n ** 256n - 1n },
        { ...quote, deadline: 1n },
      ];
      for (const variant of variants) {
        for (const key of Object.values(keys)) seeds.push(issuers(contracts.navigator, key).issue(variant));
      }
      // Most of what is mutated should be good but for its mutation.
      for (let copy = 0; copy < 24; copy += 1) {
        const amountIn = 10n ** 15n + BigInt(copy);
        seeds.push(issuers(contracts.navigator, keys.issuer).issue({ ...quote, amountIn }));
      }
    }
  }
  const [first, ...rest] = seeds;
  if (first === undefined) throw new Error('no seeds');
  return {
    market,
    patch: createPatchQuote(signer),
    url: `http://127.0.0.1:${service.port}/v0/quote/data`,
    seeds: [first, ...rest],
    async close() {
      market.stop();
      await service.stop();
    },
  };
}

function createRun({ patch, url, seeds, market }: Stage, seed: number) {
  const answers: Record<string, number> = {};
  const failures: string[] = [];
  const toAsk: { readonly number: number; readonly calldata: Hex }[] = [];
  let throughHttp = 0;
  let acceptedByContract = 0;
  let worstCpuMs = 0;
  const fail = (number: number, what: string) => failures.push(`--seed ${seed} --only ${number}: ${what}`);

  async function send(number: number): Promise<void> {
    const { body, mutation } = makeBody(seeds, createRandom(seed * 1_000_003 + number));
    const nowSeconds = Math.floor(Date.now() / 1000);
    let answered: ReturnType<typeof answerMeasured>;
    try {
      answered = answerMeasured(() => patch(JSON.parse(body), nowSeconds));
    } catch (error) {
      if (!(error instanceof SyntaxError)) return void fail(number, `${mutation}: it threw ${String(error)}`);
      answers['invalid_request'] = (answers['invalid_request'] ?? 0) + 1;
      const answer = await sendThroughHttp(body);
      const isSaid = answer.status === 400 && answer.detail === 'the body is not JSON';
      if (!isSaid && !isOutOfBounds(body, answer)) fail(number, `${mutation}: ${answer.status} ${answer.detail}`);
      return;
    }
    const { reply, cpuMs } = answered;
    worstCpuMs = Math.max(worstCpuMs, cpuMs);
    if (cpuMs > CPU_MS_MAX) fail(number, `${mutation}: ${cpuMs} ms of CPU`);

    const code = 'code' in reply ? reply.code : 'ok';
    answers[code] = (answers[code] ?? 0) + 1;
    const status = 'code' in reply ? problemKinds[reply.code].status : 200;
    if (status >= 500) fail(number, `${mutation}: ${status} ${code}`);
    const text = 'code' in reply ? reply.detail : String(reply.body);
    if (!('code' in reply)) {
      const wrong = differs(JSON.parse(body) as Asked, text);
      if (wrong !== undefined) fail(number, `${mutation}: ${wrong}`);
      toAsk.push({ number, calldata: text as Hex });
    }
    if (number % HTTP_SHARE === 0) {
      const answer = await sendThroughHttp(body);
      const isSame = answer.status === status && answer.detail === text;
      if (!isSame && !(status >= 400 && isOutOfBounds(body, answer)))
        fail(number, `${mutation}: ${answer.status} through HTTP`);
    }
    if (toAsk.length >= CALLS_AT_ONCE) await askContract();
  }

  /** The detail of a refusal, or the patched call. */
  async function sendThroughHttp(body: string): Promise<{ status: number; detail: string }> {
    throughHttp += 1;
    const response = await fetch(url, { method: 'PATCH', headers: { 'content-type': 'application/json' }, body });
    const { status } = response;
    const text = await response.text();
    return { status, detail: status === 200 ? text : (JSON.parse(text) as { detail: string }).detail };
  }

  async function askContract(): Promise<void> {
    const asked = toAsk.splice(0);
    const answered = await market.tryAll(asked.map(({ calldata }) => calldata));
    for (const [index, { number }] of asked.entries()) {
      if (failures.length >= FAILURES_MAX) return;
      const swapped = answered[index];
      // A minimum above what the pools give is the contract's own business: by then it has taken the call.
      if (swapped !== undefined && ('output' in swapped || swapped.error === 'InsufficientOutput'))
        acceptedByContract += 1;
      else fail(number, `the contract refuses it: ${swapped?.error}`);
    }
  }

  return {
    failures,
    send,
    askContract,
    report: (count: number): FuzzReport => ({ count, answers, throughHttp, acceptedByContract, worstCpuMs, failures }),
  };
}

/** Bodies that are dear to read, or no JSON. */
const hostileBodies: readonly [(data: Hex, size: number) => string, ...((data: Hex, size: number) => string)[]] = [
  (_data, size) => '['.repeat(size) + ']'.repeat(size),
  (data, size) => `{"data":"${data}","minOutput":${'{"amount":'.repeat(size)}1${'}'.repeat(size)}}`,
  (data, size) => `{"data":"${data}","minOutput":{"amount":"${'9'.repeat(size)}"}}`,
  (data, size) => `{"data":"${data}","minOutput":{"amount":${'9'.repeat(size)}}}`,
  (data) => `{"data":"${data}","minOutput":{"amount":1e999999}}`,
  (data, size) => `{"data":"${data}",${Array.from({ length: size / 10 }, (_, at) => `"${at}":${at}`).join()}}`,
  (data) => `{"data":"${data}","data":"0x","minOutput":{"amount":"7"}}`,
  (data) => `{"__proto__":{"minOutput":{"amount":"7"}},"data":"${data}"}`,
  (data, size) => `{"data":"${data}","minOutput":{"amount":"7"}}`.slice(0, size),
  (data) => `{"data":"${data}","minOutput":{"amount":'7'}}`,
  (data, size) => ' '.repeat(size) + JSON.stringify({ data, minOutput: { amount: '7' } }),
];

interface Asked {
  readonly data: Hex;
  readonly minOutput: { readonly amount: string };
}

function makeBody(seeds: Stage['seeds'], random: Random): { body: string; mutation: string } {
  if (random.oneIn(500)) {
    const data = random.pick(seeds);
    return { body: random.pick(hostileBodies)(data, 1 + random.below(100_000)), mutation: 'a hostile body' };
  }
  const names = Object.keys(mutations) as [string, ...string[]];
  const first = random.pick(names);
  let [data, mutation]: [string, string] = [random.pick(seeds), ''];
  // Some are mutated twice, as long as they are calldata that can be.
  for (const name of random.oneIn(5) ? [first, random.pick(names)] : [first]) {
    if (!/^0x([0-9a-f]{2}){300,}$/.test(data)) continue;
    data = mutations[name]?.(data as Hex, random, random.pick(seeds)) ?? data;
    mutation += `${mutation === '' ? '' : ', '}${name}`;
  }
  const amount = random.oneIn(100)
    ? random.pick<unknown>([5, null, '', '-1', '1e9', `0x${'0'.repeat(70)}`, '9'.repeat(79), [], {}, '0xg'])
    : random.pick([String(random.below(1_000_000)), `0x${random.below(2 ** 31).toString(16)}`, '1']);
  const body = random.oneIn(200)
    ? random.pick<unknown>([
        null,
        [],
        data,
        { data },
        { data, minOutput: null },
        { minOutput: { amount } },
        { data, minOutput: { amount }, x: 1 },
      ])
    : { data, minOutput: { amount } };
  return { body: JSON.stringify(body), mutation };
}

/**
 * CPU of this thread for an answer. Where it took long, the least of three: a pause of the garbage collector, or a part of the
 * code that is not compiled yet, is no property of the input.
 */
function answerMeasured(answer: () => ReturnType<PatchQuote>) {
  const startedAt = performance.now();
  const reply = answer();
  const tookMs = performance.now() - startedAt;
  // Dear to read the CPU each time; and it cannot be more than this.
  if (tookMs < CPU_MS_MAX / 10) return { reply, cpuMs: tookMs };
  const againMs = [1, 2, 3].map(() => {
    const before = process.threadCpuUsage();
    answer();
    const { user, system } = process.threadCpuUsage(before);
    return (user + system) / 1000;
  });
  return { reply, cpuMs: Math.min(...againMs) };
}

const navigator = new Interface(deployArtifacts.Navigator.abi);

/** What is wrong with a patched call; ethers is the judge of what both say. */
export function differs({ data, minOutput }: Asked, patched: string): string | undefined {
  const before = hexToBytes(data);
  const after = hexToBytes(patched as Hex);
  if (before.length !== after.length) return 'the length changed';
  const signatureAt = before.length - 96;
  const mayChange = (at: number) =>
    (at >= signatureAt - 64 && at < signatureAt - 32) || (at >= signatureAt && at < signatureAt + 65);
  const wrongAt = before.findIndex((byte, at) => byte !== after[at] && !mayChange(at));
  if (wrongAt !== -1) return `byte ${wrongAt} changed`;
  const minimum = navigator.parseTransaction({ data: patched })?.args[2] as readonly bigint[] | undefined;
  return minimum?.length === 1 && minimum[0] === BigInt(minOutput.amount) ? undefined : `the minimum is ${minimum}`;
}
