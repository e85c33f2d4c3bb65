export { type Attributes, type Context, metrics, type Span, SpanKind, SpanStatusCode } from '@opentelemetry/api';
export * from './carry-trace.js';
export * from './create-instruments.js';
export * from './judge-processes.js';
export * from './logger.js';
export * from './measure-clients.js';
export * from './open-spans.js';
export { type Labels, parseMetrics, readMetrics, type Told } from './read-metrics.js';
export * from './start-telemetry.js';
