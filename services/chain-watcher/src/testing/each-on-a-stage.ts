import { afterAll, afterEach, beforeAll, beforeEach } from '@jest/globals';
import { type Gate, type Misbehaviour, type StrictNode, startMisbehavingNode, until } from '@makerbook/parts';
import type { Logger } from '@makerbook/telemetry';
import type { Watcher } from '../run.js';
import { runWatcherProcess, type WatcherProcess } from './run-watcher.js';
import { Stage } from './stage-chain.js';

/**
 * Lets the tests of a file share a chain, each with its own log. Whatever a test starts by these functions ends with
 * the test.
 * @param begin called with the stage of each test
 * @param prepare prepares the chain for all tests
 */
export function eachOnAStage(begin: (stage: Stage) => void, prepare?: (chain: Stage) => Promise<void>) {
  let chain: Stage;
  let stage: Stage;
  const endings: (() => Promise<void>)[] = [];
  beforeAll(async () => {
    chain = await Stage.open();
    await prepare?.(chain);
  });
  beforeEach(async () => {
    stage = await chain.beside();
    begin(stage);
  });
  afterEach(async () => {
    for (const end of endings.splice(0).reverse()) await end();
    await stage.close();
  });
  afterAll(() => chain.close());
  /** Opens a gate in front of a node, by default the stage's. */
  async function openGate(answer: Misbehaviour, nodeUrl = stage.anvil.rpcUrl): Promise<Gate> {
    const gate = await startMisbehavingNode(nodeUrl, answer);
    endings.push(gate.close);
    return gate;
  }
  return {
    /** A watcher in this process. */
    async watch(settings?: Record<string, string>, logger?: Logger): Promise<Watcher> {
      const watcher = await stage.watch(settings, logger);
      endings.push(watcher.stop);
      return watcher;
    },
    /** A watcher as a process of its own. */
    async run(settings?: Record<string, string>): Promise<WatcherProcess> {
      const watcher = await runWatcherProcess(stage, settings);
      endings.push(watcher.kill);
      return watcher;
    },
    openGate,
    /** Another node of the chain, which can be given faults. */
    openNode: (): Promise<StrictNode> => stage.anvil.node.beside(),
    /** A gate that holds calls of a method on demand. */
    async holdCalls(method: string) {
      const waiting: (() => void)[] = [];
      let isHolding = false;
      const gate = await openGate(async (calls, forward) => {
        if (isHolding && calls.some((call) => call.method === method)) {
          await new Promise<void>((resolve) => waiting.push(resolve));
        }
        return forward(calls);
      });
      return {
        ...gate,
        hold: () => {
          isHolding = true;
        },
        passOne: async () => {
          await until('a call is held', () => waiting.length > 0);
          waiting.shift()?.();
        },
        passAll: () => {
          isHolding = false;
          for (const resolve of waiting.splice(0)) resolve();
        },
      };
    },
  };
}
