export { pollBlocks } from '../blocks/poll-blocks.js';
export { watchHead } from '../blocks/watch-head.js';
export { Mutex } from '../mutex.js';
export { retrying } from '../retry.js';
export { staysWatched } from '../watch/follow-book.js';
export { Touched } from '../watch/match-logs.js';
export { WatchedSet } from '../watch/watched-set.js';
export { Work } from '../work.js';
export { isUnfoldable, type KnownOrder, PartitionFold } from './fold-log.js';
