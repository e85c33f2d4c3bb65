import { createNode, findContracts, readBlock } from '@makerbook/chain';
import { monotonicMs, ZERO_ADDRESS } from '@makerbook/contracts-primitives';
import type { DoctorSettings } from '../env.js';
import { alert, type Finding, judge, look } from './finding.js';

/** The limit of the alert ChainStale. */
const STALE_SECONDS_MAX = 15;

/** Checks each node: its answers, its chain, the age of its newest block, and whether the contracts are there. */
export async function examineChain(settings: DoctorSettings, nowMs: () => number): Promise<readonly Finding[]> {
  const { RPC_URL: urls, CHAIN_ID: chainId } = settings;
  if (urls.length === 0) return [{ verdict: 'unread', what: 'node: RPC_URL names none' }];
  const wanted = Object.entries({
    LIMIT_ORDER_PROTOCOL_ADDRESS: settings.LIMIT_ORDER_PROTOCOL_ADDRESS,
    NAVIGATOR_ADDRESS: settings.NAVIGATOR_ADDRESS,
    ORDER_FILLER_ADDRESS: settings.ORDER_FILLER_ADDRESS,
  }).filter(([, address]) => address !== ZERO_ADDRESS);
  const node = createNode({ urls, chainId, monotonicMs });
  try {
    const looks = node.endpoints().map((endpoint) =>
      look(`node ${endpoint.name}`, alert('NodeFails'), async () => {
        const head = await readBlock(endpoint, 'latest');
        const seconds = head === undefined ? Number.POSITIVE_INFINITY : Math.round(nowMs() / 1000 - head.timestamp);
        const addresses = wanted.map(([, address]) => address);
        const there = await findContracts(endpoint, addresses);
        const missing = wanted.filter(([, address]) => !there.includes(address)).map(([name]) => name);
        const code = `contracts at ${endpoint.name}: ${missing.length === 0 ? 'there' : `no code at ${missing.join(', ')}`}`;
        return [
          judge(
            seconds <= STALE_SECONDS_MAX,
            `node ${endpoint.name}: block ${head?.number ?? 'none'}, ${seconds} s old`,
            alert('ChainStale'),
          ),
          judge(missing.length === 0, code, 'services/operator/README.md#the-contracts'),
        ];
      }),
    );
    return (await Promise.all(looks)).flat();
  } finally {
    node.close();
  }
}
