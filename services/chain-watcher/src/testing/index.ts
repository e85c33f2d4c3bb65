export { isUnfoldable } from './fold-log.js';
export { drawFaults, type Faults } from './simulation/draw-faults.js';
export { judgeLog, type Verdict } from './simulation/judge-log.js';
export { Chain } from './simulation/keep-chain.js';
export {
  GRACE_SECONDS,
  type HashOrder,
  type MakersAtWork,
  nameOf,
  openMakers,
  PROTOCOL,
  recordOf,
  type SignedOrder,
  unfoldableOf,
} from './simulation/place-orders.js';
export { runWatcher, TOPICS, type WatcherWorld } from './simulation/run-watcher.js';
