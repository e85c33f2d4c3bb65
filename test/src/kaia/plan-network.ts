import { join } from 'node:path';
import { SigningKey } from 'ethers';

/** Not the id of Kaia's own network: with that a node would take Kaia's genesis block. */
const NETWORK_ID = '18217';
/** How many transactions of one account may wait. One account can then fill a block. */
const WAITING_MAX = '16384';
/** As `KAIA.md` says. */
const SEGMENT_BYTES = '900000';
export const KAIA_TOPIC = 'local.klaytn.chaindatafetcher.en-0.blockgroup.v1';

/** Keys as 0x and 64 digits of hex. */
export interface NetworkKeys {
  readonly validator: string;
  readonly proxy: string;
  readonly endpoint: string;
}

export interface NetworkPorts {
  readonly validator: number;
  readonly proxy: number;
  readonly endpoint: number;
  readonly rpc: number;
  readonly ws: number;
}

/** How to start a node of the network, and what its data folder must hold before that. */
export interface NodePlan {
  readonly name: keyof NetworkKeys;
  readonly program: 'kcn' | 'kpn' | 'ken';
  readonly folder: string;
  readonly args: readonly string[];
  /** `static-nodes.json`: the nodes to which it connects. */
  readonly peers: readonly string[];
}

/** The words for `homi`: one validator, every hardfork from the first block on, and coins for these accounts. */
export function genesisArgs(folder: string, chainId: number, rich: readonly string[]): readonly string[] {
  const what = ['--gen-type', 'local', '--cn-num', '1', '--chainID', String(chainId), '--funding-addr', rich.join(',')];
  return ['setup', ...what, '--output', folder];
}

/** A validator, a proxy node beside it, and an endpoint node that serves JSON-RPC and writes each block to Kafka. */
export function planNetwork(
  folder: string,
  {
    keys,
    ports,
    kafkaBrokers,
    rewards,
  }: Readonly<{ keys: NetworkKeys; ports: NetworkPorts; kafkaBrokers: string; rewards: string }>,
): readonly NodePlan[] {
  const node = (
    name: keyof NetworkKeys,
    program: NodePlan['program'],
    peers: readonly string[],
    more: readonly string[],
  ) => ({
    ...{ name, program, peers, folder: join(folder, name) },
    args: [
      ...['--datadir', join(folder, name), '--networkid', NETWORK_ID, '--nodiscover', '--nat', 'none', '--ipcdisable'],
      ...['--nodekeyhex', keys[name].slice(2), '--port', String(ports[name])],
      ...['account', 'all'].flatMap((whose) => [`--txpool.exec-slots.${whose}`, WAITING_MAX]),
      ...['account', 'all'].flatMap((whose) => [`--txpool.nonexec-slots.${whose}`, WAITING_MAX]),
      ...more,
    ],
  });
  const rpc = [
    '--rpc',
    '--rpcaddr',
    '127.0.0.1',
    '--rpcport',
    String(ports.rpc),
    '--rpcapi',
    'eth,kaia,net,web3,chaindatafetcher',
  ];
  const ws = ['--ws', '--wsaddr', '127.0.0.1', '--wsport', String(ports.ws), '--wsapi', 'eth,net', '--wsorigins', '*'];
  const kafka = [
    '--chaindatafetcher.kafka.brokers',
    kafkaBrokers,
    '--chaindatafetcher.kafka.segment.size',
    SEGMENT_BYTES,
  ];
  const fetcher = ['--gcmode', 'archive', '--chaindatafetcher', '--chaindatafetcher.mode', 'kafka', ...kafka];
  return [
    node('validator', 'kcn', [], ['--rewardbase', rewards]),
    node('proxy', 'kpn', [addressOf(keys.validator, ports.validator, 'cn')], []),
    node('endpoint', 'ken', [addressOf(keys.proxy, ports.proxy, 'pn')], [...rpc, ...ws, ...fetcher]),
  ];
}

function addressOf(key: string, port: number, type: string): string {
  // Leave out the prefix that marks the key's form.
  const publicKey = new SigningKey(key).publicKey.slice('0x04'.length);
  return `kni://${publicKey}@127.0.0.1:${port}?discport=0&ntype=${type}`;
}
