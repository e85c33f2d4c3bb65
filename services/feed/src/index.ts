export { admitReaders } from './admit-readers.js';
export { feedSettings } from './env.js';
export { type LiveBook, openBook } from './live-book.js';
export { openFills } from './live-fills.js';
export { createRoutes } from './run.js';
export { serveStreams } from './stream-book.js';
