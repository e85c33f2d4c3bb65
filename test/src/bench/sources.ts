import { measureSources, type Phase, type Sources, Stage } from '@makerbook/chain-watcher/testing';
import { startTestParts, stopTestParts } from '@makerbook/parts';
import { type BenchOptions, type Figure, state } from './report.js';

const POLL_MS = 500;
/** Uses the golden ratio, so that blocks come evenly at all times between two polls. */
const BLOCK_MS = POLL_MS * 1.618;
const BLOCKS = 40;
const QUICK_BLOCKS = 8;
/** Bounds of a median, in milliseconds and as a share of the poll interval. */
const TOLD_MS_MAX = 15;
const POLLED_MAX = 0.6;
const TURNS_MAX = 24;

const steady = (from: Phase['from']): Phase => ({ what: 'steady', from });
const back = (from: Phase['from']): Phase => ({ what: 'all back', from });
const isAway = true;

/** Each combination of sources, and what happens to it. A source that is down gives no blocks and no measurements. */
const table: readonly (readonly [string, Sources, readonly Phase[]])[] = [
  ['polling', {}, [steady('polling')]],
  [
    'polling two nodes',
    { hasSpare: true },
    [
      steady('polling'),
      { what: 'the first away', node: { isAway }, from: 'polling' },
      { what: 'the first lags', node: { lagBlocks: 3 }, from: 'polling' },
      { what: 'the second lags', spare: { lagBlocks: 3 }, from: 'polling' },
      back('polling'),
    ],
  ],
  ['WebSocket', { isAnnounced: true }, [steady('announcements')]],
  [
    'WebSocket, two nodes',
    { isAnnounced: true, hasSpare: true },
    [
      steady('announcements'),
      { what: 'the first away', node: { isAway }, from: 'polling' },
      { what: 'the second lags', spare: { lagBlocks: 3 }, from: 'announcements' },
      back('announcements'),
    ],
  ],
  [
    'topic',
    { hasTopic: true },
    [
      steady('topic'),
      { what: 'JSON-RPC behind', node: { lagBlocks: 2 }, from: 'topic' },
      { what: 'behind JSON-RPC', topic: { lateMs: 2500 }, from: 'polling' },
      { what: 'repeats and changes of order', topic: { repeatOneIn: 2, swapOneIn: 8 }, from: 'topic' },
      { what: 'stands', topic: 'stands', from: 'polling' },
      back('topic'),
    ],
  ],
  [
    'topic and WebSocket',
    { isAnnounced: true, hasTopic: true },
    [
      steady('announcements'),
      { what: 'JSON-RPC behind', node: { lagBlocks: 2 }, from: 'topic' },
      { what: 'the topic behind', topic: { lateMs: 2500 }, from: 'announcements' },
      { what: 'the node away', node: { isAway }, from: 'topic' },
      { what: 'the topic stands', topic: 'stands', from: 'announcements' },
      back('announcements'),
    ],
  ],
  [
    'topic and WebSocket, two nodes',
    { isAnnounced: true, hasTopic: true, hasSpare: true },
    [
      { what: 'the first lags', node: { lagBlocks: 3 }, from: 'topic' },
      { what: 'the first away, the topic stands', node: { isAway }, topic: 'stands', from: 'polling' },
      back('announcements'),
    ],
  ],
];

/** Measures how long after its source a block is in the log, for each combination of sources. */
export async function benchSources({ isQuick }: BenchOptions): Promise<readonly Figure[]> {
  const options = { blocks: isQuick ? QUICK_BLOCKS : BLOCKS, blockMs: BLOCK_MS, pollMs: POLL_MS };
  await startTestParts();
  const figures: Figure[] = [];
  let takeOvers = 0;
  let turns = 0;
  try {
    const chain = await Stage.open();
    for (const [name, sources, phases] of table) {
      const stage = await chain.beside();
      const measured = await measureSources(stage, sources, phases, options);
      for (const [index, { what, from }] of phases.entries()) {
        const { p50Ms = Number.NaN, turnsPerBlock = 0, takeOvers: own = 0 } = measured[index] ?? {};
        const valueMax = from === 'polling' ? POLLED_MAX * POLL_MS : TOLD_MS_MAX;
        const figure = state(`${name}: ${what}; after ${from}, p50`, 'ms', p50Ms, { valueMax });
        console.log(`${figure.name} ${p50Ms.toFixed(1)} ms, ${turnsPerBlock.toFixed(1)} turns, ${own} take-overs`);
        figures.push(figure);
        takeOvers += own;
        turns = Math.max(turns, turnsPerBlock);
      }
      await stage.close();
    }
    await chain.close();
  } finally {
    await stopTestParts();
  }
  return [
    ...figures,
    state('turns of the block loop, most of all rows', 'per block', turns, { valueMax: TURNS_MAX }),
    state('take-overs', 'in all', takeOvers, { valueMax: 0 }),
  ];
}
