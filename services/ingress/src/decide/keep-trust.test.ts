import { expect, test } from '@jest/globals';
import { ZERO_ADDRESS } from '@makerbook/contracts-primitives';
import { readSettings } from '@makerbook/settings';
import { silentLogger } from '@makerbook/telemetry';
import { ingressSettings } from '../env.js';
import { appendMsMaxOf } from '../limits.js';
import { keepTrust, type TrustParts } from './keep-trust.js';

const settings = readSettings(ingressSettings, {
  KAFKA_BROKERS: 'none:1',
  DATABASE_URL: 'postgres://me@none/d',
  SERVICE_NAME: 'Test',
  LIMIT_ORDER_PROTOCOL_ADDRESS: ZERO_ADDRESS,
});

/** The steps until a server is trusted that has lost rows at this time. 0: it has lost none. */
async function stepsSince(sinceMs: number): Promise<readonly string[]> {
  const steps: string[] = [];
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();
  let looks = 0;
  const parts: unknown = {
    settings,
    logger: silentLogger,
    pause: async (ms: number) => void steps.push(`pause ${ms}`),
    log: {
      endOffsets: async () => {
        steps.push('ends');
        return [7n, 0n];
      },
    },
    projection: {
      havePassed: async (last: readonly { partition: number; offset: bigint }[]) => {
        looks += 1;
        steps.push(`passed ${last.map(({ partition, offset }) => `${partition}:${offset}`)}`);
        return looks === 2;
      },
    },
    store: { beginTrust: async () => ({ sinceMs, isTrusted: false }), endTrust: async () => end() },
  };
  keepTrust(parts as TrustParts);
  await ended;
  return steps;
}

test('a server that lost rows is trusted once all appends have ended and the rows reach the log’s end', async () => {
  const untilFolded = ['ends', 'passed 0:6,1:-1', 'pause 50', 'passed 0:6,1:-1'];
  expect(await stepsSince(5)).toEqual([`pause ${appendMsMaxOf(settings)}`, ...untilFolded]);
  expect(await stepsSince(0)).toEqual(untilFolded);
});
