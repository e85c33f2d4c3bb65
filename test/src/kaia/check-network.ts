import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { createDatabase, findFreePort, startPostgres } from '@makerbook/parts';
import { computeAddress } from 'ethers';
import { admitMaker, runOperator } from '../kit/admit-maker.js';
import { eventually } from '../kit/eventually.js';
import { openStack } from '../kit/open-stack.js';
import { percentile } from '../kit/summarise.js';
import { TEST_QUOTE_SIGNER_KEY } from '../quotes/issue-quotes.js';
import { changeKey } from './change-key.js';
import { fillBlocks } from './fill-blocks.js';
import type { KaiaNetwork } from './start-network.js';
import { SOURCES, type WatchedSources, watchSources } from './watch-sources.js';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const QUIET_BLOCKS = 40;
const TRANSFERS = 2_000;
const FULL_BLOCKS = 3;
const AWAY_MS = 10_000;
/** A node looks for its peers once in half a minute. */
const BACK_MS_MAX = 240_000;
/** Half of the interval at which a node is polled. */
const NEWS_MS_MAX = 250;
const TURNS_MAX = 36;

/** Runs Makerbook on the network. @returns what is wrong */
export async function checkNetwork(network: KaiaNetwork, folder: string): Promise<readonly string[]> {
  const chain = {
    RPC_URL: network.rpcUrl,
    DEPLOYER_KEY: network.richKey,
    QUOTE_SIGNERS: computeAddress(TEST_QUOTE_SIGNER_KEY).toLowerCase(),
    LOG_LEVEL: 'error',
  };
  const contracts = await deploy(chain);
  const postgres = await startPostgres({ dataDir: join(folder, 'postgres'), port: await findFreePort() });
  const databaseUrl = await createDatabase(postgres.url, 'sources');
  const parts = { kafkaBrokers: network.kafkaBrokers, databaseUrl, contracts, folder: join(folder, 'watchers') };
  const watched = await watchSources(network, parts);
  const environment = {
    ...chain,
    MAKER_KEY: network.richKey,
    RPC_WS_URL: network.wsUrl,
    KAIA_TOPIC: network.topic,
    KAIA_KAFKA_BROKERS: network.kafkaBrokers,
  };
  const wrong: string[] = [];
  try {
    wrong.push(...(await measureSources(network, watched)));
    await fill(network, watched, contracts['TOKENS'] ?? '');
    wrong.push(...(await run('end to end', ['deploy/local/dist/run-tests.js', 'end-to-end'], environment)));
    // The end of this stack stops the network too.
    const stack = await openStack({
      ownParts: true,
      settings: { ...environment, KAFKA_BROKERS: network.kafkaBrokers, DATABASE_URL: postgres.url },
    });
    try {
      const ofStack = { ...environment, TAKER_KEY: network.takerKey, MAKERBOOK_DATA: stack.folder };
      for (const example of ['maker', 'poller']) {
        wrong.push(...(await run(`example:${example}`, ['deploy/local/dist/run-example.js', example], ofStack)));
      }
      wrong.push(...(await run('demo', ['test/dist/demo.js'], ofStack)));
      const changed = await changeKey(network, network.takerKey);
      const said = await admitMaker(changed, { ...stack.operatorEnvironment, RPC_URL: network.rpcUrl });
      if (!said.includes('has changed its key')) wrong.push(`makers add warns of no changed key: ${said}`);
      await killEndpoint(network, watched);
      await stack.ready();
      wrong.push(...(await compareLogs(network, watched)));
    } finally {
      await stack.stop();
    }
  } finally {
    await watched.stop();
  }
  return wrong;
}

/** Deploys the contracts twice. @returns the settings that the command prints */
async function deploy(chain: Readonly<Record<string, string>>): Promise<Record<string, string>> {
  const command = () => runOperator(['contracts', '--tokens', '--yes'], { ...chain, SERVICE_NAME: 'Makerbook' });
  const first = await command();
  if (!(await command()).includes('nothing is missing')) throw new Error('contracts that are there are not found');
  console.log(`contracts: ${first.split('\n').find((line) => line.includes('transactions')) ?? ''}`);
  return Object.fromEntries(
    [...first.matchAll(/^([A-Z_]+)=(.*)$/gm)].map(([, name = '', value = '']) => [name, value]),
  );
}

/** Measures how far each log is behind its source while the chain is quiet. */
async function measureSources(network: KaiaNetwork, watched: WatchedSources): Promise<string[]> {
  const from = (await head(network)) + 3;
  const turnsBefore = await Promise.all(SOURCES.map((source) => watched.metricOf(source, 'block_turns_total')));
  await watched.reached(from + QUIET_BLOCKS);
  const numbers = Array.from({ length: QUIET_BLOCKS }, (_, index) => from + index);
  const wrong: string[] = [];
  for (const [at, source] of SOURCES.entries()) {
    const delays = watched.delaysOf(source, numbers);
    const turns = ((await watched.metricOf(source, 'block_turns_total')) - (turnsBefore[at] ?? 0)) / QUIET_BLOCKS;
    const [p50, p99] = [percentile(delays, 0.5), percentile(delays, 0.99)];
    console.log(
      `${source}: the log is behind by ${Math.round(p50)} ms (p50), ${Math.round(p99)} ms (p99), of ${delays.length} blocks; ${turns.toFixed(1)} turns a block`,
    );
    if (delays.length < QUIET_BLOCKS - 1) wrong.push(`${source}: ${delays.length} of ${QUIET_BLOCKS} blocks were seen`);
    if (source !== 'polling' && !(p50 < NEWS_MS_MAX)) wrong.push(`${source}: the log is behind by ${p50} ms`);
    if (turns > TURNS_MAX) wrong.push(`${source}: the block loop turns ${turns} times a block`);
  }
  return wrong;
}

async function fill(network: KaiaNetwork, watched: WatchedSources, tokens: string): Promise<void> {
  const token = /0x[0-9a-f]{40}/.exec(tokens)?.[0] ?? '';
  for (let block = 0; block < FULL_BLOCKS; block += 1) {
    const numbers = await fillBlocks(network.rpcUrl, network.richKey, token, TRANSFERS);
    await watched.reached(Math.max(...numbers));
    const delays = SOURCES.map((source) => `${source} ${watched.delaysOf(source, numbers).map(Math.round).join(', ')}`);
    console.log(`${TRANSFERS} transfers in block ${numbers.join(', ')}: behind by ms: ${delays.join('; ')}`);
  }
}

/** Kills the endpoint node, and starts it again. */
async function killEndpoint(network: KaiaNetwork, watched: WatchedSources): Promise<void> {
  const before = await head(network);
  await network.kill('endpoint');
  await pause(AWAY_MS);
  network.start('endpoint');
  const startedMs = performance.now();
  await eventually(async () => (await head(network)) > before + AWAY_MS / 1000, true, BACK_MS_MAX);
  const backMs = performance.now();
  const newest = await head(network);
  await watched.reached(newest);
  const after = Math.round(performance.now() - backMs);
  console.log(
    `endpoint node killed for ${AWAY_MS} ms: its head is back ${Math.round(backMs - startedMs)} ms after its start, all logs ${after} ms later`,
  );
  await eventually(async () => String(await network.ask('chaindatafetcher_status')), '{fetching: 1, rangeFetching: 0}');
  await watched.reached(newest + QUIET_BLOCKS / 2);
}

/** Checks that all logs have each block as the node has it. */
async function compareLogs(network: KaiaNetwork, watched: WatchedSources): Promise<string[]> {
  const first = Math.max(...SOURCES.map((source) => Math.min(...watched.blocksOf(source).keys())));
  const last = Math.min(...SOURCES.map((source) => Math.max(...watched.blocksOf(source).keys())));
  const wrong: string[] = [];
  for (let number = first; number <= last; number += 1) {
    const { hash } = (await network.ask('eth_getBlockByNumber', `0x${number.toString(16)}`, false)) as { hash: string };
    for (const source of SOURCES) {
      const logged = watched.blocksOf(source).get(number)?.block.hash;
      if (logged !== hash) wrong.push(`block ${number} is ${hash}, and ${logged} in the log of ${source}`);
    }
  }
  const gaps = await Promise.all(
    (['topic', 'both'] as const).map((source) => watched.metricOf(source, 'topic_gap_blocks_total')),
  );
  console.log(
    `${last - first + 1} blocks are in all ${SOURCES.length} logs; ${gaps.join(' and ')} came by JSON-RPC in topic mode`,
  );
  return wrong;
}

async function head(network: KaiaNetwork): Promise<number> {
  return Number(await network.ask('eth_blockNumber').catch(() => 0));
}

/** Runs a command of this project and shows its output. */
function run(title: string, words: readonly string[], settings: Readonly<Record<string, string>>): Promise<string[]> {
  console.log(`\n== ${title}`);
  const child = spawn(process.execPath, [...words], {
    cwd: root,
    env: { ...process.env, ...settings },
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  return new Promise((resolve) => {
    child.once('exit', (code) => resolve(code === 0 ? [] : [`${title} failed (exit code ${code})`]));
  });
}
