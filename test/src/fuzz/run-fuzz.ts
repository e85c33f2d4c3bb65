import { errorsOfAnyRequest, type OperationId, operations } from '@makerbook/contracts-http';
import { readOptions } from '@makerbook/settings';
import { openStack, TEST_STACK_VARIABLE, UNBOUNDED } from '../kit/open-stack.js';
import { readWhole } from '../kit/read-values.js';
import { type FuzzReport, fuzzEndpoints } from './fuzz-endpoints.js';

const USAGE = `npm run fuzz -- [--requests N] [--seed N] [--seconds N]
  mutated requests of all endpoints against a stack of its own, or the one whose data folder MAKERBOOK_TEST_STACK names:
  100000 with seed 1 if not said, or fewer where --seconds are over`;
const { values } = readOptions(USAGE, {
  requests: { type: 'string', default: '100000' },
  seed: { type: 'string', default: '1' },
  seconds: { type: 'string', default: '86400' },
});

const asked = {
  seed: readWhole('--seed', values.seed),
  requests: readWhole('--requests', values.requests, 1),
  secondsMax: readWhole('--seconds', values.seconds, 1),
};

/** Lift all limits, because the fuzzed code is behind them. */
const settings = {
  ...UNBOUNDED,
  TRUSTED_PROXY_HOPS: '2',
  GATEWAY_REQUESTS_MAX: '100000000',
  PATCH_REQUESTS_MAX: '100000000',
};

const stack = await openStack({ ownParts: process.env[TEST_STACK_VARIABLE] === undefined, settings });
const stopEarly = () => void stack.stop().finally(() => process.exit(1));
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, stopEarly);
let report: FuzzReport;
try {
  report = await fuzzEndpoints(stack, codesOf, {
    ...asked,
    onProgress: ({ requests, seconds, failures }) =>
      console.error(`${requests} requests, ${Math.round(requests / seconds)} a second, ${failures.length} failures`),
  });
} finally {
  await stack.stop();
}
const exitCode = report.failures.length === 0 ? 0 : 1;
process.stdout.write(`${JSON.stringify(report, undefined, 2)}\n`, () => process.exit(exitCode));

function codesOf(operation: string): readonly string[] {
  return [...Object.keys(operations[operation as OperationId].errors), ...Object.keys(errorsOfAnyRequest)];
}
