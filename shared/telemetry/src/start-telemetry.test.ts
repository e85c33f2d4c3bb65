import type { IncomingMessage, ServerResponse } from 'node:http';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { diag, SpanKind } from '@opentelemetry/api';
import { activeIds, activeTrace, type TraceHeaders, traceOfRequest } from './carry-trace.js';
import { beginSpan, inSendSpan, withSpan } from './open-spans.js';
import { startTelemetry, type Telemetry } from './start-telemetry.js';

const errors: string[] = [];
const nothing = () => undefined;
let telemetry: Telemetry;
beforeAll(() => {
  telemetry = startTelemetry('test', { LOG_LEVEL: 'error', BUILD_REVISION: 'abc' });
  const error = (reason: string) => void errors.push(reason);
  diag.setLogger({ error, warn: nothing, info: nothing, debug: nothing, verbose: nothing });
});
afterAll(() => telemetry.stop());

const scrape = () =>
  new Promise<string>((resolve) => {
    const response = { setHeader: nothing, end: resolve } as unknown as ServerResponse;
    telemetry.serveMetrics({} as IncomingMessage, response);
  });

test('a scrape without a collector logs no error and names the machine', async () => {
  const page = await scrape();
  expect(page).toMatch(/^target_info\{.*host_name="/m);
  expect(errors).toEqual([]);
});

test('a scrape names the version and the revision of the build', async () => {
  expect(await scrape()).toMatch(/^makerbook_build_info\{version="\d+\.\d+\.\d+[^"]*",revision="abc"\} 1$/m);
});

test('if no span is exported, the trace of a request is passed on unchanged, and no trace begins', async () => {
  const serve = (headers: TraceHeaders) => {
    const parent = traceOfRequest(headers);
    const span = beginSpan('POST', { kind: SpanKind.SERVER }, parent);
    return withSpan(span, parent, () => inSendSpan('facts', 1, {}, async () => [activeTrace(), activeIds()]));
  };
  const [traceId, spanId] = ['a'.repeat(32), 'b'.repeat(16)];
  const brought = { traceparent: `00-${traceId}-${spanId}-01`, tracestate: 'vendor=1', baggage: 'tenant=a' };
  expect(await serve(brought)).toEqual([brought, { trace_id: traceId, span_id: spanId }]);
  expect(await serve({})).toEqual([{}, {}]);
});
