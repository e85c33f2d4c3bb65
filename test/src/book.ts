import { readOptions, refuseWords } from '@makerbook/settings';
import { findStack, orExit } from './demo/find-stack.js';
import { readWhole } from './kit/read-values.js';

const USAGE = `npm run book
  shows the book of the stack that runs (MAKERBOOK_DATA: its folder, .local unless given), as a router has it, until Ctrl-C
npm run book -- --at MOMENT [--order HASH]
  prints what the feed said at a moment: all messages that were not replaced by then, or the last one about an order.
  MOMENT: a block, or <partition>:<offset> of a fact, as X-Log-Position and timelines have it
npm run book -- --record FILE
  writes the feed into a file, until Ctrl-C
npm run book -- --replay FILE [--speed N] [--fresh]
  plays it into a topic that is empty, N times as fast; --fresh: with the times of now, so that routers do not find it stale
npm run book -- --make FILE [--seed N] [--minutes N]
  writes a feed of simulated makers, an hour unless given; the same seed writes the same
With --at, --record and --replay, KAFKA_BROKERS, its like, and TOPIC_PREFIX name other topics than those of the stack`;
const { values } = readOptions(USAGE, {
  at: { type: 'string' },
  order: { type: 'string' },
  record: { type: 'string' },
  replay: { type: 'string' },
  speed: { type: 'string', default: '1' },
  fresh: { type: 'boolean', default: false },
  make: { type: 'string' },
  seed: { type: 'string', default: '1' },
  minutes: { type: 'string', default: '60' },
});
const { at, order, record, replay, make } = values;
const modes = [at, record, replay, make].filter((mode) => mode !== undefined);
if (modes.length > 1) refuseWords('one of --at, --record, --replay and --make is enough');
const whole = (name: 'speed' | 'seed' | 'minutes') => readWhole(`--${name}`, values[name], 1);
const [speed, seed, minutes] = [whole('speed'), whole('seed'), whole('minutes')];

await orExit(async () => {
  if (make !== undefined) {
    const { makeFeed } = await import('./feed/make-feed.js');
    return console.log(`${await makeFeed(make, seed, minutes)} records`);
  }
  if (modes.length === 0) return (await import('./demo/show-book.js')).showBook(findStack());
  const { openFeed } = await import('./feed/open-feed.js');
  const feed = openFeed();
  try {
    if (record !== undefined) await feed.record(record);
    if (replay !== undefined) await feed.replay(replay, speed, values.fresh);
    if (at !== undefined) await feed.tell(at, order);
  } finally {
    await feed.close();
  }
});
