export { WatchedSet } from './keep-watched-set.js';
export { matchLogs } from './match-logs.js';
