import { describe, expect, test } from '@jest/globals';
import { LogUnavailable } from './failures.js';
import { openFetching } from './fetch-partitions.js';
import type { Connections, KafkaNode } from './reach-brokers.js';

const GONE = 1;
const SUCCESSOR = 2;
const quiet = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };

/** A cluster whose broker 1 has just died: its partition is led by broker 2, which is known to whoever asks. */
function afterDeathOfLeader(polled: number[]): Connections {
  let layout: readonly number[] | undefined = [GONE];
  const node = (id: number): KafkaNode => ({
    id,
    call: async () => {
      throw new Error('only fetches are sent');
    },
    send: async <R>() => {
      polled.push(id);
      await new Promise((resolve) => setTimeout(resolve, 5));
      if (id === GONE) throw new LogUnavailable('connection refused', { mayHaveBeenAppended: false });
      return { errorCode: 0, partitions: [] } as R;
    },
  });
  const unused = () => {
    throw new Error('reading asks for layouts and nodes alone');
  };
  return {
    layoutOf: async () => {
      layout ??= [SUCCESSOR];
      return layout;
    },
    forgetLayout: () => {
      layout = undefined;
    },
    node,
    leaderOf: unused,
    anyNode: unused,
    controller: unused,
    coordinatorOf: unused,
    forgetCoordinator: unused,
    metadata: unused,
    interrupt: () => undefined,
    close: () => undefined,
  };
}

describe('reading a partition', () => {
  test('goes on at the new leader when the broker that led it is gone', async () => {
    const polled: number[] = [];
    const fetching = openFetching({
      connections: afterDeathOfLeader(polled),
      topic: 'facts',
      headerEncoding: 'utf8',
      recordsMax: 10,
      bytesMax: 1000,
      logger: quiet,
      handle: async () => undefined,
      onOutOfRange: async (_partition, offset) => offset,
      onFatal: (error) => {
        throw error;
      },
      now: () => 1,
    });
    fetching.start(0, 0n);
    for (let waitedMs = 0; waitedMs < 3_000 && !polled.includes(SUCCESSOR); waitedMs += 20) {
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    await fetching.close();
    expect(polled).toContain(SUCCESSOR);
    expect(polled.filter((id) => id === GONE)).toHaveLength(1);
  });
});
