import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { measureSources, type Phase, type Sources } from './testing/measure-sources.js';
import { Stage } from './testing/stage-chain.js';

const POLL_MS = 2000;
const options = { blocks: 8, blockMs: 200, pollMs: POLL_MS } as const;
const steady = (from: Phase['from']): Phase => ({ what: 'steady', from });

let chain: Stage;
beforeAll(async () => {
  chain = await Stage.open();
});
afterAll(() => chain.close());

/** `npm run sources` has the whole table, and measures it. */
test.each<[string, Sources, Phase, number]>([
  ['announcements', { isAnnounced: true }, steady('announcements'), POLL_MS / 4],
  ['the topic', { hasTopic: true }, steady('topic'), POLL_MS / 4],
  ['the topic and announcements', { hasTopic: true, isAnnounced: true }, steady('announcements'), POLL_MS / 4],
  [
    'the topic, ahead of a node that announces its blocks',
    { hasTopic: true, isAnnounced: true },
    { what: 'ahead', from: 'topic', node: { lagBlocks: 2 } },
    POLL_MS / 4,
  ],
])('blocks come by %s, and the loop turns some times for each', async (_name, sources, phase, p50Max) => {
  const stage = await chain.beside();
  try {
    const [measured] = await measureSources(stage, sources, [phase], options);
    expect(measured?.p50Ms).toBeLessThan(p50Max);
    expect(measured?.turnsPerBlock).toBeLessThan(24);
    expect(measured?.takeOvers).toBe(0);
  } finally {
    await stage.close();
  }
});
