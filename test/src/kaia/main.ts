import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findFreePort, startKafka, stopLivingParts } from '@makerbook/parts';
import { readOptions } from '@makerbook/settings';
import { checkNetwork } from './check-network.js';
import { findPrograms } from './find-programs.js';
import { type KaiaNetwork, startNetwork } from './start-network.js';

const USAGE = `KAIA_BIN=FOLDER npm run kaia:check [-- --network]
  Makerbook on a real Kaia network: a validator, a proxy node, and an endpoint node that writes its blocks to Kafka, on free ports,
  by the programs of a release (KAIA_BIN: the folder of homi, kcn, kpn and ken). Deploys the contracts, measures each source of
  blocks, fills blocks, kills the endpoint node, and runs the demo and the end-to-end tests. Exits with 1 where something is wrong.
  --network: only the network, until Ctrl-C; prints the settings by which \`npm start\` runs on it`;
const { values } = readOptions(USAGE, { network: { type: 'boolean', default: false } });
const folder = mkdtempSync(join(tmpdir(), 'makerbook-kaia-'));
// Root runs Postgres as another user, who needs to enter this folder.
chmodSync(folder, 0o711);
let wrong: readonly string[] = [];
const stop = async () => {
  await stopLivingParts();
  if (wrong.length === 0) rmSync(folder, { recursive: true, force: true });
  else for (const line of [...wrong, `data and logs are in ${folder}`]) console.log(`wrong: ${line}`);
};
const stopEarly = () => void stop().finally(() => process.exit(1));
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, stopEarly);
try {
  const programs = findPrograms(process.env['KAIA_BIN'] ?? '');
  console.log(`Kaia ${programs.version}`);
  const kafka = await startKafka({ dataDir: join(folder, 'kafka'), port: await findFreePort() });
  const network = await startNetwork(programs, join(folder, 'network'), kafka.brokers);
  if (values.network) await keepRunning(network);
  else wrong = await checkNetwork(network, folder);
} catch (error) {
  wrong = [error instanceof Error ? error.message : String(error)];
}
await stop();
process.exit(wrong.length === 0 ? 0 : 1);

async function keepRunning({ rpcUrl, wsUrl, topic, kafkaBrokers, chainId, richKey }: KaiaNetwork): Promise<void> {
  console.log(`RPC_URL=${rpcUrl}
RPC_WS_URL=${wsUrl}
CHAIN_ID=${chainId}
KAIA_TOPIC=${topic}
KAIA_KAFKA_BROKERS=${kafkaBrokers}
DEPLOYER_KEY=${richKey}
Stop: Ctrl-C`);
  await new Promise(() => setInterval(() => undefined, 60_000));
}
