import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { propagation, SpanKind, SpanStatusCode } from '@opentelemetry/api';
import { NodeSDK } from '@opentelemetry/sdk-node';
import { InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace';
import { activeTrace, carryOn, type TraceHeaders, traceOfRequest } from './carry-trace.js';
import { createLogger } from './logger.js';
import { beginSpan, describeSpan, inBatchSpan, inSendSpan, inSpan, withSpan } from './open-spans.js';

const traceId = '0af7651916cd43dd8448eb211c80319c';
const otherTraceId = 'b'.repeat(32);
const sampled = `00-${traceId}-b7ad6b7169203331-01`;
const exporter = new InMemorySpanExporter();
const sdk = new NodeSDK({
  spanProcessors: [new SimpleSpanProcessor({ exporter })],
  metricReaders: [],
  autoDetectResources: false,
  logRecordProcessors: [],
});

beforeAll(() => sdk.start());
beforeEach(() => exporter.reset());
afterAll(() => sdk.shutdown());

const spanNamed = (wanted: string) => exporter.getFinishedSpans().find(({ name }) => name === wanted);

/** Handles a request as a server does. */
function serve<T>(headers: TraceHeaders, work: () => T): T {
  const parent = traceOfRequest(headers);
  const span = beginSpan('POST', { kind: SpanKind.SERVER }, parent);
  try {
    return withSpan(span, parent, work);
  } finally {
    span.end();
  }
}

const batchOf = (parts: readonly (TraceHeaders | undefined)[]) => ({
  topic: 'facts',
  parts: parts.entries(),
  attributes: { size: parts.length },
  traceOf: ([, headers]: [number, TraceHeaders | undefined]) => headers,
  describe: ([offset]: [number, unknown]) => ({ offset }),
});

describe('a log line', () => {
  const lines: string[] = [];
  const logger = createLogger('ingress', 'info', { write: (line) => lines.push(line) });
  beforeEach(() => void lines.splice(0));

  test('is JSON, with level, time, service, fields and message', () => {
    logger.debug({ a: 1 }, 'too quiet');
    logger.warn({ maker: '0x1', error: new Error('gone') }, 'the log is down');
    expect(lines).toHaveLength(1);
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({
      level: 'warn',
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
      service: 'ingress',
      maker: '0x1',
      error: { type: 'Error', message: 'gone' },
      msg: 'the log is down',
    });
  });

  test('names trace and span if it is written inside a span', async () => {
    logger.info({}, 'outside');
    await serve({ traceparent: sampled }, () => inSpan('work', {}, async () => logger.info({}, 'inside')));
    const [outside, inside] = lines.map((line) => JSON.parse(line));
    expect(outside).not.toHaveProperty('trace_id');
    const spanId = spanNamed('work')?.spanContext().spanId;
    expect(inside).toMatchObject({ trace_id: traceId, span_id: spanId });
  });
});

describe('the headers of a message', () => {
  test('carry on the trace of the request, with its tracestate and baggage', () => {
    const given = { traceparent: sampled, tracestate: 'vendor=1', baggage: 'tenant=a' };
    const headers = serve(given, activeTrace);
    expect(headers).toMatchObject({ tracestate: 'vendor=1', baggage: 'tenant=a' });
    expect(headers['traceparent']).toMatch(new RegExp(`^00-${traceId}-[0-9a-f]{16}-01$`));
    expect(headers['traceparent']).not.toBe(sampled);
  });

  test('leave out baggage that is too long', () => {
    const given = { traceparent: sampled, tracestate: 'vendor=1', baggage: `a=${'x'.repeat(700)}` };
    const headers = serve(given, activeTrace);
    expect(Object.keys(headers).toSorted()).toEqual(['traceparent', 'tracestate']);
  });

  test('are not read if they are longer than any message carries', () => {
    const read = (baggage: string) => propagation.getBaggage(traceOfRequest({ baggage }))?.getAllEntries().length;
    expect(read('a=b,c=d')).toBe(2);
    expect(read('%20=%ff,'.repeat(1_000))).toBeUndefined();
  });

  test.each(['', 'x', `00-${'0'.repeat(32)}-${'0'.repeat(16)}-01`, sampled.toUpperCase()])(
    'begin a new trace if %s came',
    (traceparent) => {
      expect(serve({ traceparent }, activeTrace)['traceparent']).toMatch(/^00-(?!0af765)[0-9a-f]{32}-[0-9a-f]{16}-01$/);
    },
  );

  test('of a fact that comes from a batch carry the trace of its own origin', async () => {
    const other = { traceparent: `00-${otherTraceId}-b7ad6b7169203331-01`, baggage: 'tenant=b' };
    const own = { traceparent: sampled, baggage: 'tenant=a' };
    const [first, second, without] = await inBatchSpan(batchOf([own, other]), async () =>
      [own, other, undefined].map(carryOn),
    );
    const spanId = exporter.getFinishedSpans()[0]?.spanContext().spanId;
    expect(first).toEqual({ traceparent: `00-${traceId}-${spanId}-01`, baggage: 'tenant=a' });
    expect(second).toEqual(other);
    expect(without).toEqual({ traceparent: `00-${traceId}-${spanId}-01` });
    expect([carryOn(own), carryOn(undefined)]).toEqual([own, {}]);
  });
});

describe('a batch', () => {
  test('has one CONSUMER span in the first sampled trace, with a link to each sampled trace', async () => {
    const other = `00-${otherTraceId}-b7ad6b7169203331-01`;
    const unsampled = `00-${'c'.repeat(32)}-b7ad6b7169203331-00`;
    const parts = [undefined, {}, ...[unsampled, sampled, sampled, other].map((traceparent) => ({ traceparent }))];
    expect(await inBatchSpan(batchOf(parts), async () => 'done')).toBe('done');
    const [span, ...others] = exporter.getFinishedSpans();
    expect(others).toEqual([]);
    expect(span).toMatchObject({ name: 'process facts', kind: SpanKind.CONSUMER });
    expect(span?.attributes).toMatchObject({
      'messaging.system': 'kafka',
      'messaging.operation.type': 'process',
      size: 6,
    });
    expect(span?.parentSpanContext).toMatchObject({ traceId, spanId: 'b7ad6b7169203331' });
    expect(span?.links.map(({ context, attributes }) => [context.traceId, attributes])).toEqual([
      [traceId, { offset: 3 }],
      [otherTraceId, { offset: 5 }],
    ]);
  });

  test('without a sampled trace has no span, and what it sends has none either', async () => {
    const parts = [{ traceparent: `00-${traceId}-b7ad6b7169203331-00` }];
    expect(await inBatchSpan(batchOf(parts), () => inSendSpan('feed', 1, {}, async () => 'sent'))).toBe('sent');
    expect(exporter.getFinishedSpans()).toEqual([]);
  });
});

describe('a span', () => {
  test('for a send is a PRODUCER in the active trace', async () => {
    await serve({ traceparent: sampled }, () =>
      inSendSpan('facts', 2, { a: 1 }, async () => describeSpan({ 'messaging.kafka.offset': 7 })),
    );
    const send = spanNamed('send facts');
    expect(send).toMatchObject({ kind: SpanKind.PRODUCER, parentSpanContext: { traceId } });
    expect(send?.attributes).toEqual({
      'messaging.system': 'kafka',
      'messaging.destination.name': 'facts',
      'messaging.operation.name': 'send',
      'messaging.operation.type': 'send',
      'messaging.batch.message_count': 2,
      'messaging.kafka.offset': 7,
      a: 1,
    });
  });

  test('of work that fails records the error and passes it on', async () => {
    await expect(inSpan('work', {}, () => Promise.reject(new TypeError('no')))).rejects.toThrow('no');
    const [span] = exporter.getFinishedSpans();
    expect(span).toMatchObject({ status: { code: SpanStatusCode.ERROR, message: 'no' } });
    expect(span?.attributes).toEqual({ 'error.type': 'TypeError' });
  });
});
