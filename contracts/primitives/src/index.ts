export { type MonotonicMs, monotonicMs, type UnixMs, unixMs } from './clocks.js';
export * from './hex.js';
export * from './read-values.js';
export { pause, type RetryOptions, retry } from './waiting.js';
