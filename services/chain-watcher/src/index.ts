export { WatchedSet } from './keep-watched-set.js';
