export { matchLogs } from './watch/match-logs.js';
export { WatchedSet } from './watch/watched-set.js';
