export { KeptFills } from '../keep-fills.js';
export { RecentNews } from '../keep-recent.js';
