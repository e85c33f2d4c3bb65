import {
  type Attributes,
  type Context,
  context,
  isSpanContextValid,
  type Link,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  type SpanOptions,
  SpanStatusCode,
  TraceFlags,
  trace,
} from '@opentelemetry/api';
import { type TraceHeaders, traceOfMessage } from './carry-trace.js';

/** The SDK's default limit (`OTEL_SPAN_LINK_COUNT_LIMIT`). */
const LINKS_MAX = 128;

/** Begins a span that is not active. The caller ends it. */
export function beginSpan(name: string, { attributes, ...options }: SpanOptions, parent: Context): Span {
  const span = trace.getTracer('makerbook').startSpan(name, options, parent);
  // Most spans are not sampled, and the SDK would go through the attributes of every span.
  if (attributes !== undefined && span.isRecording()) span.setAttributes(attributes);
  return span;
}

/** Does work with a span as the active one. */
export function withSpan<T>(span: Span, parent: Context, work: () => T): T {
  return context.with(trace.setSpan(parent, span), work);
}

/** Adds attributes to the active span, if there is one. */
export function describeSpan(attributes: Attributes): void {
  trace.getActiveSpan()?.setAttributes(attributes);
}

/** Does work in a span of its own: a child of the active one, or a root. If the work fails, the span gets the error. */
export async function inSpan<T>(name: string, options: SpanOptions, work: () => Promise<T>): Promise<T> {
  return within(name, options, context.active(), work);
}

/** Appends or publishes in a PRODUCER span, a child of the active span. Without an active span there is none. */
export async function inSendSpan<T>(
  topic: string,
  messages: number,
  attributes: Attributes,
  work: () => Promise<T>,
): Promise<T> {
  if (trace.getActiveSpan() === undefined) return work();
  const all = { ...messaging('send', topic), 'messaging.batch.message_count': messages, ...attributes };
  return within(`send ${topic}`, { kind: SpanKind.PRODUCER, attributes: all }, context.active(), work);
}

/** A batch of parts from a topic, each with its own trace. */
export interface Batch<T> {
  readonly topic: string;
  readonly parts: Iterable<T>;
  readonly attributes: Attributes;
  readonly traceOf: (part: T) => TraceHeaders | undefined;
  /** The attributes of the link to the part. */
  readonly describe: (part: T) => Attributes;
}

/**
 * Handles a batch in one CONSUMER span. The span links to all the sampled traces of its parts and belongs to the first
 * of them. If no trace is sampled, there is no span.
 */
export async function inBatchSpan<T, R>(batch: Batch<T>, work: () => Promise<R>): Promise<R> {
  const links = linksOf(batch);
  const [first] = links;
  if (first === undefined) return work();
  const attributes = { ...messaging('process', batch.topic), ...first.attributes, ...batch.attributes };
  const parent = trace.setSpanContext(ROOT_CONTEXT, first.context);
  return within(`process ${batch.topic}`, { kind: SpanKind.CONSUMER, attributes, links }, parent, work);
}

async function within<T>(name: string, options: SpanOptions, parent: Context, work: () => Promise<T>): Promise<T> {
  const span = beginSpan(name, options, parent);
  try {
    return await withSpan(span, parent, work);
  } catch (error) {
    failSpan(span, error);
    throw error;
  } finally {
    span.end();
  }
}

function failSpan(span: Span, error: unknown): void {
  const { name, message } = error instanceof Error ? error : new Error(String(error));
  span.setAttribute('error.type', name);
  span.setStatus({ code: SpanStatusCode.ERROR, message });
}

function linksOf<T>({ parts, traceOf, describe }: Batch<T>): Link[] {
  const links = new Map<string, Link>();
  for (const part of parts) {
    const headers = traceOf(part);
    const traceparent = headers?.['traceparent'];
    // Most are not sampled: the last digit shows it.
    if (headers === undefined || traceparent === undefined || !/[13579bdf]$/.test(traceparent)) continue;
    if (links.has(traceparent)) continue;
    const spanContext = trace.getSpanContext(traceOfMessage(headers));
    if (spanContext === undefined || !isSpanContextValid(spanContext)) continue;
    if ((spanContext.traceFlags & TraceFlags.SAMPLED) === 0) continue;
    links.set(traceparent, { context: spanContext, attributes: describe(part) });
    if (links.size === LINKS_MAX) break;
  }
  return [...links.values()];
}

function messaging(operation: 'send' | 'process', topic: string): Attributes {
  return {
    'messaging.system': 'kafka',
    'messaging.destination.name': topic,
    'messaging.operation.name': operation,
    'messaging.operation.type': operation,
  };
}
