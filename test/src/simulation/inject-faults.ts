import { setTimeout as pause } from 'node:timers/promises';
import type { Chance } from '@makerbook/parts';
import type { Chain } from './drive-chain.js';
import type { Simulation } from './open-simulation.js';
import type { Done } from './place-orders.js';
import { nodeStates } from './spare-node.js';

/** Processes that end, freeze and start at random moments, while the chain and the makers go on. */
export interface FaultInjector {
  /** One watcher, or two side by side, with settings of this seed's own. */
  begin(): Promise<void>;
  /** Ends, freezes, resumes or starts one process. */
  inject(): Promise<Done>;
  /** Kills ingress at a random moment of a request, which is sent again once ingress is back. */
  killIngressUnder(request: () => Promise<Done>): Promise<Done>;
  /** Starts what a comparison needs: a projector, a watcher, and all that answers. */
  settle(): Promise<void>;
  /** How many processes were ended. */
  endings(): number;
  /** Which watchers run, by which settings, and what the spare node is like. */
  describe(): string;
}

const WATCHERS = ['chain-watcher', 'second-watcher', 'third-watcher'];
/** More endings than starts, so that one watcher alone is not rare. */
const weights = {
  endWatcher: 6,
  startWatcher: 4,
  freezeWatcher: 3,
  resumeWatcher: 3,
  endProjector: 3,
  endIngress: 2,
  endQuery: 1,
  changeNode: 4,
};

export const faultActions = [
  ...['startWatcher', 'freezeWatcher', 'resumeWatcher'],
  ...['watcher', 'projector', 'ingress', 'query'].flatMap((name) => [`SIGKILL ${name}`, `SIGTERM ${name}`]),
  'SIGKILL ingress under a request',
  ...nodeStates.map((state) => `the spare node ${state}`),
];

export function openFaults(
  { chain, services }: Simulation,
  chance: Chance,
  note: (text: string) => void,
): FaultInjector {
  /** The settings of each watcher since it started last. */
  const settings = new Map<string, WatcherSettings>();
  /** In a half of the seeds every watcher follows block by block, in the others they are of all kinds. */
  const isOrderly = chance.oneIn(2);
  let ended = 0;
  const watchers = () => WATCHERS.filter(services.isRunning);

  async function startWatcher(name: string): Promise<void> {
    const own = drawSettings(chance, chain, isOrderly);
    settings.set(name, own);
    note(`${name} starts ${JSON.stringify(own)}`);
    await services.start(name, 'chain-watcher', own);
  }
  async function end(name: string, signal: 'SIGKILL' | 'SIGTERM'): Promise<Done> {
    ended += 1;
    await services.end(name, signal);
    return { actions: [`${signal} ${WATCHERS.includes(name) ? 'watcher' : name}`], text: `${signal} for ${name}` };
  }

  return {
    async begin() {
      await Promise.all(watchers().map((name) => services.end(name, 'SIGTERM')));
      chain.spare.become('works');
      for (const name of WATCHERS.slice(0, chance.between(1, 2))) await startWatcher(name);
    },
    async inject() {
      const signal = chance.pick(['SIGKILL', 'SIGKILL', 'SIGTERM'] as const);
      const what = chance.pickWeighted(weights);
      const idle = chance.pickAny(WATCHERS.filter((name) => !services.isRunning(name)));
      const busy = chance.pickAny(watchers());
      const awake = chance.pickAny(watchers().filter((name) => !services.isFrozen(name)));
      const frozen = chance.pickAny(watchers().filter(services.isFrozen));
      switch (what) {
        case 'startWatcher':
          if (idle === undefined) return { actions: [], text: 'all watchers run' };
          await startWatcher(idle);
          return { actions: [what], text: `${watchers().length} watchers run` };
        case 'endWatcher':
          return busy === undefined ? { actions: [], text: 'no watcher runs' } : end(busy, signal);
        case 'freezeWatcher':
          if (awake === undefined) return { actions: [], text: 'no watcher is awake' };
          await services.freeze(awake);
          return { actions: [what], text: `freezes ${awake}` };
        case 'resumeWatcher':
          if (frozen === undefined) return { actions: [], text: 'no watcher is frozen' };
          services.resume(frozen);
          return { actions: [what], text: `resumes ${frozen}` };
        case 'endProjector':
          return services.isRunning('projector')
            ? end('projector', signal)
            : { actions: [], text: 'no projector runs' };
        case 'endIngress':
        case 'endQuery': {
          const name = what === 'endIngress' ? 'ingress' : 'query';
          const done = await end(name, signal);
          await services.start(name, name);
          return done;
        }
        case 'changeNode': {
          const state = chance.pick(nodeStates);
          chain.spare.become(state);
          const isAsked = watchers().some((name) => settings.get(name)?.RPC_URL !== undefined);
          return { actions: isAsked ? [`the spare node ${state}`] : [], text: `the spare node ${state}` };
        }
      }
    },
    async killIngressUnder(request) {
      const afterMs = chance.below(25);
      const requesting = request();
      // It is awaited below; until then a failure of it must not end the run.
      requesting.catch(() => undefined);
      await pause(afterMs);
      note('SIGKILL for ingress under a request');
      await end('ingress', 'SIGKILL');
      await services.start('ingress', 'ingress');
      const { actions, text } = await requesting;
      return { actions: [...actions, 'SIGKILL ingress under a request'], text };
    },
    async settle() {
      if (!services.isRunning('projector')) {
        note('projector starts');
        await services.start('projector', 'projector');
      }
      if (watchers().length === 0) await startWatcher(WATCHERS[0] as string);
      if (watchers().every(services.isFrozen)) {
        const [name = ''] = watchers();
        note(`resumes ${name}`);
        services.resume(name);
      }
      await services.ready(['ingress', 'query']);
    },
    endings: () => ended,
    describe: () => {
      const lines = watchers().map(
        (name) => `${name}${services.isFrozen(name) ? ', frozen,' : ''} ${JSON.stringify(settings.get(name))}`,
      );
      return [...lines, `the spare node ${chain.spare.state()}`].join('\n');
    },
  };
}

type WatcherSettings = Readonly<Record<string, string>> & { readonly RPC_URL?: string };

/** @param isOrderly it follows block by block */
function drawSettings(chance: Chance, chain: Chain, isOrderly: boolean): WatcherSettings {
  return {
    CATCH_UP_BLOCKS_MAX: isOrderly ? MANY_BLOCKS : chance.pick([MANY_BLOCKS, MANY_BLOCKS, '3', '0']),
    STATE_BLOCKS_MAX: isOrderly ? MANY_BLOCKS : chance.pick([MANY_BLOCKS, MANY_BLOCKS, MANY_BLOCKS, '1']),
    MULTICALL_CALLS_MAX: chance.pick(['200', '3']),
    SUSPECT_CALLS_MAX: chance.pick(['8', '8', '8', '2']),
    ...(chance.oneIn(2) ? { RPC_WS_URL: chain.wsUrl } : {}),
    // That which fails is asked first, and is given up soon where it only lags.
    ...(chance.oneIn(2) ? { RPC_URL: `${chain.spare.url},${chain.rpcUrl}`, NODE_SILENCE_MS_MAX: '100' } : {}),
  };
}

/** More than lie between two comparisons. */
const MANY_BLOCKS = '100';
