import type { IncomingMessage, ServerResponse } from 'node:http';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startTelemetry, type Telemetry } from '@makerbook/telemetry';
import { createMetrics, type Measured } from './metrics.js';

let telemetry: Telemetry;
beforeAll(() => {
  telemetry = startTelemetry('test', { LOG_LEVEL: 'error', BUILD_REVISION: 'abc' });
});
afterAll(() => telemetry.stop());

const scrape = () =>
  new Promise<string>((resolve) => {
    const response = { setHeader: () => undefined, end: resolve } as unknown as ServerResponse;
    telemetry.serveMetrics({} as IncomingMessage, response);
  });

test('the age of the sweep counts from the take-over, and not from the start of the process', async () => {
  const nowMs = 7_200_000;
  const sweep = { startedAtMs: nowMs - 3000, tookMs: undefined, pairs: 0, facts: 0 };
  const state = { role: 'STANDBY', position: undefined, sweep };
  const sizes = () => ({ pairs: 0, makers: 0, orders: 0 });
  createMetrics().observe({
    vitals: { startedAtMs: 0, secondsSince: (atMs: number) => (nowMs - atMs) / 1000, unixMs: () => nowMs },
    work: {
      state,
      watched: { sizes, unread: new Map(), putOff: new Map(), wallets: { unasked: () => ({ orders: 0 }) } },
      followed: { partitions: [], counts: {}, newestBlock: () => undefined, newestNumber: () => -1 },
    },
    headNumber: () => undefined,
    source: { isSubscribed: () => false, counts: () => ({ turns: 0 }) },
    isSweeping: true,
    rpc: () => ({ failuresByEndpoint: new Map() }),
    suspects: () => 0,
  } as unknown as Measured);
  const ageSeconds = async () => /^chain_watcher_sweep_age_seconds(?:\{.*\})? (\S+)/m.exec(await scrape())?.[1];
  expect(await ageSeconds()).toBe('0');
  state.role = 'HOLDER';
  expect(await ageSeconds()).toBe('3');
});
