import { type Context, context, isSpanContextValid, propagation, ROOT_CONTEXT, trace } from '@opentelemetry/api';
import { CompositePropagator, W3CBaggagePropagator, W3CTraceContextPropagator } from '@opentelemetry/core';

/** The W3C headers that carry a trace in a message: `traceparent`, `tracestate` and `baggage`, if any. */
export type TraceHeaders = Readonly<Record<string, string>>;

/** The log is a contract: its headers are W3C's, whatever `OTEL_PROPAGATORS` says about HTTP. */
const w3c = new CompositePropagator({ propagators: [new W3CTraceContextPropagator(), new W3CBaggagePropagator()] });

/** Clients choose tracestate and baggage, and the log keeps them for ever. What does not fit is left out. */
const HEADERS_BYTES_MAX = 600;

/** The trace that a request brought, by the propagators of `OTEL_PROPAGATORS`; else none. */
export function traceOfRequest(headers: Readonly<Record<string, string | string[] | undefined>>): Context {
  return propagation.extract(ROOT_CONTEXT, headers, {
    // Do not read what no message would carry: a baggage of 8 kB can cost 7 ms.
    get: (carrier, name) => ((carrier[name]?.length ?? 0) > HEADERS_BYTES_MAX ? undefined : carrier[name]),
    keys: (carrier) => Object.keys(carrier),
  });
}

/** The trace of a message. */
export function traceOfMessage(headers: TraceHeaders): Context {
  return w3c.extract(ROOT_CONTEXT, headers, {
    get: (carrier: TraceHeaders, name) => carrier[name],
    keys: (carrier) => Object.keys(carrier),
  });
}

/** The headers that carry the active trace in a message. */
export function activeTrace(): TraceHeaders {
  const headers: Record<string, string> = {};
  let bytes = 0;
  w3c.inject(context.active(), headers, {
    set: (carrier, name, value) => {
      bytes += Buffer.byteLength(value);
      if (bytes <= HEADERS_BYTES_MAX && value !== '') carrier[name] = value;
    },
  });
  return headers;
}

/**
 * The headers of a message that comes from work on several traces. They continue the trace of its origin, through the
 * active span if that belongs to this trace. Without an origin they continue the active trace, if it is recorded.
 */
export function carryOn(origin: TraceHeaders | undefined): TraceHeaders {
  const span = trace.getActiveSpan();
  const isRecorded = span?.isRecording() === true;
  if (origin === undefined) return isRecorded ? activeTrace() : {};
  const isOwn = isRecorded && origin['traceparent']?.slice(3, 35) === span.spanContext().traceId;
  return isOwn ? { ...origin, ...activeTrace() } : origin;
}

/** Ids of the active span, as log lines name them. */
export function activeIds(): { readonly trace_id?: string; readonly span_id?: string } {
  const ids = trace.getActiveSpan()?.spanContext();
  return ids !== undefined && isSpanContextValid(ids) ? { trace_id: ids.traceId, span_id: ids.spanId } : {};
}
