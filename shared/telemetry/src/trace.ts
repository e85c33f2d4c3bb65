import { randomBytes } from 'node:crypto';
import { type Context, context, propagation, ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';

const pattern = /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;

/** Whether a header is a W3C `traceparent` of version 00. */
export function isTraceparent(value: unknown): value is string {
  return typeof value === 'string' && pattern.test(value);
}

/** A `traceparent` that continues the given one, or begins a trace; for a process that exports no spans. */
export function nextTraceparent(parent?: string): string {
  const traceId = isTraceparent(parent) ? parent.slice(3, 35) : randomBytes(16).toString('hex');
  const flags = isTraceparent(parent) ? parent.slice(53) : '00';
  return `00-${traceId}-${randomBytes(8).toString('hex')}-${flags}`;
}

/**
 * Runs some work inside a span and hands it the `traceparent` to pass on. Where spans are not exported the work still
 * gets one, so that a trace is never cut.
 * @param parent the `traceparent` that came in, if any
 */
export async function inSpan<T>(
  name: string,
  { parent, kind = SpanKind.INTERNAL }: { parent?: string | undefined; kind?: SpanKind },
  work: (traceparent: string) => Promise<T>,
): Promise<T> {
  const outer = isTraceparent(parent) ? extract(parent) : context.active();
  const span = trace.getTracer('makerbook').startSpan(name, { kind }, outer);
  if (!span.isRecording()) {
    span.end();
    return work(nextTraceparent(parent));
  }
  const inner = trace.setSpan(outer, span);
  try {
    return await context.with(inner, () => work(inject(inner) ?? nextTraceparent(parent)));
  } catch (error) {
    span.setStatus({ code: SpanStatusCode.ERROR });
    span.recordException(error instanceof Error ? error : String(error));
    throw error;
  } finally {
    span.end();
  }
}

function extract(traceparent: string): Context {
  return propagation.extract(ROOT_CONTEXT, { traceparent });
}

function inject(from: Context): string | undefined {
  const carrier: Record<string, string> = {};
  propagation.inject(from, carrier);
  return carrier['traceparent'];
}
