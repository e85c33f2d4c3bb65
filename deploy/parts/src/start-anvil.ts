import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { findFreePort } from './find-free-ports.js';
import { answers, mineBlocks } from './mine-blocks.js';
import { type Part, PartError, requireFreePort, spawnPart, waitUntilReady } from './spawn-part.js';
import { type StrictNode, type StrictNodeOptions, startStrictNode } from './strict-node/start-strict-node.js';

const START_TIMEOUT_MS = 90_000;
/** Balances can be read this many blocks back, as on a full node of Kaia. */
const STATES_KEPT = 128;

const fromAnvil = createRequire(createRequire(import.meta.url).resolve('@foundry-rs/anvil/package.json'));

export type AnvilPart = Part & {
  /** JSON-RPC of the node in front of anvil, which also passes on `anvil_` and `evm_`. The port takes WebSocket too. */
  readonly rpcUrl: string;
  readonly wsUrl: string;
  readonly node: StrictNode;
  /** JSON-RPC of anvil itself. Do not ask it to make blocks: ask the node. */
  readonly plainUrl: string;
};

export type AnvilOptions = {
  /** Keeps the chain here for the next start. Absent: the chain is not kept. */
  readonly dataDir?: string;
  /** Port of the node. Absent: a free one. */
  readonly port?: number;
  /** The kind of node whose limits and messages the node copies. Default: Kaia. */
  readonly profile?: StrictNodeOptions['profile'];
  readonly chainId?: number;
  /** Interval at which this process mines all pending transactions into a block. Absent: a block per transaction. */
  readonly blockTimeSeconds?: number;
  readonly logFile?: string;
  readonly extraArgs?: readonly string[];
};

/**
 * Starts an EVM chain on the loopback address: Foundry's anvil, with its ten well-known funded accounts. In front of it
 * is a node as strict as one of Kaia.
 * @throws PartError if the kept chain cannot be read, or the port is in use
 */
export async function startAnvil(options: AnvilOptions = {}): Promise<AnvilPart> {
  const nodePort = options.port ?? (await findFreePort());
  await requireFreePort('anvil', nodePort);
  const port = await findFreePort();
  const folder = options.dataDir ?? mkdtempSync(join(tmpdir(), 'makerbook-anvil-'));
  mkdirSync(folder, { recursive: true });
  // Use the EVM version of Kaia. Keep no history on disk: it would take a megabyte for each block.
  const chain = [
    '--chain-id',
    String(options.chainId ?? 8217),
    '--hardfork',
    'cancun',
    '--prune-history',
    String(STATES_KEPT),
  ];
  const state = ['--state', join(folder, 'state.json'), '--state-interval', '1'];
  const blockTime = options.blockTimeSeconds;
  const part = spawnPart({
    name: 'anvil',
    command: findBinary(),
    args: [
      ...['--host', '127.0.0.1', '--port', String(port), '--quiet'],
      ...chain,
      ...(options.dataDir === undefined ? [] : state),
      ...(blockTime === undefined ? [] : ['--no-mining']),
      ...(options.extraArgs ?? []),
    ],
    logFile: options.logFile ?? join(folder, 'anvil.log'),
    // At its end anvil only writes its state.
    stopTimeoutMs: 10_000,
  });
  if (options.dataDir === undefined)
    void part.exited.then(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
  const plainUrl = `http://127.0.0.1:${port}`;
  try {
    await waitUntilReady(part, () => answers(plainUrl, 'eth_chainId'), START_TIMEOUT_MS);
  } catch (error) {
    if (error instanceof PartError) throw explainFailure(error, options.dataDir);
    throw error;
  }
  const node = await startStrictNode(plainUrl, { port: nodePort, profile: options.profile });
  // Close the node, to free its port for the next start.
  const exited = part.exited.then(async (exit) => {
    await node.close();
    return exit;
  });
  const stop = async () => {
    await part.stop();
    await exited;
  };
  if (blockTime !== undefined) mineBlocks(node.url, blockTime * 1000, exited);
  return { ...part, exited, stop, rpcUrl: node.url, wsUrl: node.wsUrl, node, plainUrl };
}

/** Finds the native binary. The command of the npm package only wraps it in a Node.js process. */
function findBinary(): string {
  const cpu = process.arch === 'x64' ? 'amd64' : process.arch;
  const name = `@foundry-rs/anvil-${process.platform}-${cpu}`;
  try {
    const packageFile = fromAnvil.resolve(`${name}/package.json`);
    const { bin } = JSON.parse(readFileSync(packageFile, 'utf8')) as { bin?: Record<string, string> };
    return join(dirname(packageFile), bin?.['anvil'] ?? 'bin/anvil');
  } catch {
    throw new PartError(
      'anvil',
      `there is no anvil for ${process.platform}-${process.arch} (npm package ${name}): run \`npm ci\`, or give RPC_URL`,
    );
  }
}

function explainFailure(error: PartError, dataDir: string | undefined): PartError {
  if (dataDir === undefined) return error;
  return new PartError(
    'anvil',
    `${error.message}. If the kept chain in ${dataDir} is broken, move it away`,
    error.logTail,
  );
}
