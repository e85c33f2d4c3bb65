import type { Chance } from './draw-chance.js';
import type { Simulation } from './open-simulation.js';
import type { Done } from './place-orders.js';
import { pause } from './run-services.js';

/** Processes that end and start at random moments, while the chain and the makers go on. */
export interface Unrest {
  /** One watcher, or two side by side, with settings of this seed's own. */
  begin(): Promise<void>;
  /** Ends or starts one process. */
  stir(): Promise<Done>;
  /** Kills ingress at a random moment of a visit, which goes on when it is there again. */
  killIngressUnder(visit: () => Promise<Done>): Promise<Done>;
  /** Starts what a comparison needs: a projector, a watcher, and all that answers. */
  settle(): Promise<void>;
  /** To be called after a comparison. */
  compared(): Promise<void>;
  /** One watcher alone has followed every block since the last comparison. */
  isSteady(): boolean;
  /** How many processes were ended. */
  endings(): number;
}

const WATCHERS = ['chain-watcher', 'second-watcher', 'third-watcher'];
/** More endings than starts, so that one watcher alone is not rare. */
const weights = { endWatcher: 6, startWatcher: 4, endProjector: 3, endIngress: 2, endQuery: 1 };

export const stirrings = [
  'startWatcher',
  ...['watcher', 'projector', 'ingress', 'query'].flatMap((name) => [`SIGKILL ${name}`, `SIGTERM ${name}`]),
  'SIGKILL ingress under a request',
];

export function openUnrest({ chain, services }: Simulation, chance: Chance, note: (text: string) => void): Unrest {
  /** Of each running watcher: whether it reads a block that is not the newest one at a newer one. */
  const readsAtHead = new Map<string, boolean>();
  let isDisturbed = true;
  let ended = 0;
  const watchers = () => WATCHERS.filter(services.isRunning);

  async function startWatcher(name: string): Promise<void> {
    const settings = watcherSettings(chance, chain.wsUrl);
    readsAtHead.set(name, settings['STATE_BLOCKS_MAX'] === '1');
    isDisturbed = true;
    note(`${name} starts ${JSON.stringify(settings)}`);
    await services.start(name, 'chain-watcher', settings);
  }
  async function end(name: string, signal: 'SIGKILL' | 'SIGTERM'): Promise<Done> {
    ended += 1;
    if (WATCHERS.includes(name)) isDisturbed = true;
    await services.end(name, signal);
    return { actions: [`${signal} ${WATCHERS.includes(name) ? 'watcher' : name}`], text: `${signal} for ${name}` };
  }

  return {
    async begin() {
      await Promise.all(watchers().map((name) => services.end(name, 'SIGTERM')));
      for (const name of WATCHERS.slice(0, chance.between(1, 2))) await startWatcher(name);
    },
    async stir() {
      const signal = chance.pick(['SIGKILL', 'SIGKILL', 'SIGTERM'] as const);
      const what = chance.pickWeighted(weights);
      const idle = chance.pickAny(WATCHERS.filter((name) => !services.isRunning(name)));
      const busy = chance.pickAny(watchers());
      switch (what) {
        case 'startWatcher':
          if (idle === undefined) return { actions: [], text: 'all watchers run' };
          await startWatcher(idle);
          return { actions: [what], text: `${watchers().length} watchers run` };
        case 'endWatcher':
          return busy === undefined ? { actions: [], text: 'no watcher runs' } : end(busy, signal);
        case 'endProjector':
          return services.isRunning('projector')
            ? end('projector', signal)
            : { actions: [], text: 'no projector runs' };
        case 'endIngress':
        case 'endQuery': {
          const name = what === 'endIngress' ? 'ingress' : 'query';
          const stirred = await end(name, signal);
          await services.start(name, name);
          return stirred;
        }
      }
    },
    async killIngressUnder(visit) {
      const afterMs = chance.below(25);
      const visiting = visit();
      // It is awaited below; until then a failure of it must not end the run.
      visiting.catch(() => undefined);
      await pause(afterMs);
      note('SIGKILL for ingress under a request');
      await end('ingress', 'SIGKILL');
      await services.start('ingress', 'ingress');
      const { actions, text } = await visiting;
      return { actions: [...actions, 'SIGKILL ingress under a request'], text };
    },
    async settle() {
      if (!services.isRunning('projector')) {
        note('projector starts');
        await services.start('projector', 'projector');
      }
      if (watchers().length === 0) await startWatcher(WATCHERS[0] as string);
      await services.ready(['ingress', 'query']);
    },
    async compared() {
      const [only, ...others] = watchers();
      if (only === undefined || others.length > 0) return;
      // One that has just started is not ready before it has seen to a block itself.
      if (await services.isReady(only)) isDisturbed = false;
    },
    isSteady: () => !isDisturbed && watchers().length === 1 && readsAtHead.get(watchers()[0] ?? '') === false,
    endings: () => ended,
  };
}

function watcherSettings(chance: Chance, wsUrl: string): Record<string, string> {
  return {
    CATCH_UP_BLOCKS_MAX: chance.pick(['120', '120', '3', '0']),
    STATE_BLOCKS_MAX: chance.pick(['100', '100', '100', '1']),
    MULTICALL_CALLS_MAX: chance.pick(['200', '3']),
    ...(chance.oneIn(2) ? { RPC_WS_URL: wsUrl } : {}),
  };
}
