export { type MonotonicMs, monotonicMs, type UnixMs, unixMs } from './clocks.js';
export { closeAll } from './close-all.js';
export * from './hex.js';
export * from './read-values.js';
export { Unavailable, unlessAway } from './unavailable.js';
export { pause, type RetryOptions, retry } from './waiting.js';
