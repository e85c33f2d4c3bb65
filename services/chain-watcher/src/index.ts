export { type WatcherSettings, watcherSettings } from './env.js';
export { WatchedSet } from './keep-watched-set.js';
export { matchLogs } from './match-logs.js';
export { runWatcher, type Watcher, type WatcherParts } from './run.js';
