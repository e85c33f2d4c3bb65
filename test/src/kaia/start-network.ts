import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { findFreePorts, isPortFree, type Part, spawnPart } from '@makerbook/parts';
import { computeAddress, Wallet } from 'ethers';
import { eventually } from '../kit/eventually.js';
import type { Programs } from './find-programs.js';
import { genesisArgs, KAIA_TOPIC, type NodePlan, planNetwork } from './plan-network.js';

export type KaiaNetwork = Awaited<ReturnType<typeof startNetwork>>;

const CHAIN_ID = 8217;

/**
 * Starts a private network of Kaia with a block a second, on free ports of this machine.
 * @param kafkaBrokers where the endpoint node writes its blocks
 * @throws Error if a program fails or no block comes
 */
export async function startNetwork({ path }: Programs, folder: string, kafkaBrokers: string) {
  const [rich, taker] = [Wallet.createRandom(), Wallet.createRandom()];
  mkdirSync(folder, { recursive: true });
  run(path.homi, genesisArgs(join(folder, 'genesis'), CHAIN_ID, [rich.address, taker.address]));
  const keys = {
    validator: `0x${readFileSync(join(folder, 'genesis/keys/nodekey1'), 'utf8').trim()}`,
    proxy: Wallet.createRandom().privateKey,
    endpoint: Wallet.createRandom().privateKey,
  };
  const [validator = 0, proxy = 0, endpoint = 0, rpc = 0, ws = 0] = await findFreePorts(5);
  const ports = { validator, proxy, endpoint, rpc, ws };
  const plan = planNetwork(folder, { keys, ports, kafkaBrokers, rewards: computeAddress(keys.validator) });
  const running = new Map<NodePlan['name'], Part>();
  const start = ({ name, program, args }: NodePlan, more: readonly string[] = []) => {
    const logFile = join(folder, `${name}.log`);
    running.set(name, spawnPart({ name, command: path[program], args: [...args, ...more], logFile }));
  };
  for (const node of plan) {
    run(path[node.program], ['init', '--datadir', node.folder, join(folder, 'genesis/scripts/genesis.json')]);
    writeFileSync(join(node.folder, 'static-nodes.json'), JSON.stringify(node.peers));
    start(node, node.name === 'endpoint' ? ['--chaindatafetcher.no.default'] : []);
    // Wait until the node listens: another node retries it only after half a minute.
    await eventually(() => isPortFree(ports[node.name], undefined), false);
  }
  const rpcUrl = `http://127.0.0.1:${rpc}`;
  const network = {
    chainId: CHAIN_ID,
    rpcUrl,
    wsUrl: `ws://127.0.0.1:${ws}`,
    kafkaBrokers,
    topic: KAIA_TOPIC,
    /** Keys of accounts that hold coins. */
    richKey: rich.privateKey,
    takerKey: taker.privateKey,
    ask: (method: string, ...params: unknown[]) => ask(rpcUrl, method, params),
    /** Kills a node at once, as a crash does. */
    async kill(name: NodePlan['name']): Promise<void> {
      const part = running.get(name);
      part?.kill('SIGKILL');
      await part?.exited;
    },
    /** Starts a node again, on its data. */
    start(name: NodePlan['name']): void {
      for (const node of plan) if (node.name === name) start(node);
    },
  };
  const head = async () => Number(await network.ask('eth_blockNumber').catch(() => 0));
  await eventually(async () => (await head()) > 1, true).catch((error: unknown) => {
    throw new Error(`the network makes no blocks, see ${folder}/*.log`, { cause: error });
  });
  // Follow KAIA.md for a new chain: otherwise the fetcher would stop at block 0.
  await network.ask('chaindatafetcher_writeCheckpoint', await head());
  await network.ask('chaindatafetcher_startFetching');
  return network;
}

function run(program: string, args: readonly string[]): void {
  try {
    execFileSync(program, args, { stdio: ['ignore', 'ignore', 'pipe'], encoding: 'utf8' });
  } catch (error) {
    const { stderr = '' } = error as { stderr?: string };
    throw new Error(`${program} ${args[0]} failed: ${stderr.trim().split('\n').slice(-5).join('\n')}`);
  }
}

/** Asks a node. @throws Error with the node's message if it refuses */
async function ask(url: string, method: string, params: readonly unknown[]): Promise<unknown> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
  const answer = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
  const { result, error } = (await answer.json()) as { result?: unknown; error?: { message: string } };
  if (error !== undefined) throw new Error(`${method}: ${error.message}`);
  return result;
}
