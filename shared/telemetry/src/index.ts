export { metrics, SpanKind } from '@opentelemetry/api';
export * from './logger.js';
export * from './start-telemetry.js';
export * from './trace.js';
