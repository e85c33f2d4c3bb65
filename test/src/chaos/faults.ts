import type { Chance, TcpGate, ToldFaults } from '@makerbook/parts';
import { canFillDisk, fillDisk } from '../kit/fill-disk.js';
import { type ChaosBed, SERVICES } from './open-bed.js';

/** A temporary harm to one part. */
export interface Fault {
  readonly kind: string;
  /** The harmed part. For a connection, the part that is called. */
  readonly part: string;
  /** The bounds of its duration, in milliseconds. 0 if it is over at once. */
  readonly holdMs: readonly [least: number, most: number];
  /** @returns what exactly was harmed, and a function that ends the fault */
  begin(chance: Chance): Promise<{ readonly detail: string; end(): Promise<void> }>;
}

const JUMPS_SECONDS = [-3600, -40, 40, 3600] as const;
/** The chain's clock never goes back, so its jumps add up. They are small beside the life of an order. */
const CHAIN_JUMP_SECONDS_MAX = 20;
const DELAY_MS = [20, 400] as const;
const AT_ONCE = [0, 0] as const;
const SHORT = [1_000, 8_000] as const;
const LAG_BLOCKS_MAX = 5;
/** Reaches beyond the time limits of the services. */
const LONG = [1_000, 20_000] as const;

/** Every fault that can be injected on this machine, and the kinds that cannot be, each with the reason. */
export function listFaults(
  bed: ChaosBed,
  holdMsMax = Number.POSITIVE_INFINITY,
): { readonly faults: readonly Fault[]; readonly skipped: readonly string[] } {
  const isChain = (name: string) => name === 'anvil';
  const writers = [...bed.brokers, 'Postgres'];
  const limited = writers.filter((name) => canFillDisk(bed.pid(name)));
  const faults = [
    // A node of Kaia loses no block. anvil loses some at SIGKILL, but at SIGTERM it writes its blocks first.
    ...bed.names.map((name) => signalOnce(bed, isChain(name) ? 'SIGTERM' : 'SIGKILL', name)),
    signalOnce(
      bed,
      'SIGKILL',
      'everything',
      bed.names.filter((name) => !isChain(name)),
    ),
    ...bed.names.map((name) => freeze(bed, name)),
    ...[...partsCalled(bed)].flatMap(([part, links]) => harmLinks(bed, part, links)),
    ...SERVICES.map((service) => jumpClock(bed, service)),
    jumpChain(bed),
    ...tellNode(bed),
    ...stopFetcher(bed),
    ...limited.map((name) => fillDiskOf(bed, name)),
  ];
  const skipped = [
    'clock jump of Kafka, Postgres, Redis, gateway: no means without a preloaded library; no promise hangs on one of them',
    'SIGKILL of anvil: it loses blocks, which no chain of final blocks does; it is stopped by SIGTERM instead',
    ...(limited.length < writers.length ? ['disk full: needs `prlimit` (util-linux), and the right to use it'] : []),
  ];
  const bounded = faults.map((fault) => {
    const [least, most] = fault.holdMs;
    return { ...fault, holdMs: [Math.min(least, holdMsMax), Math.min(most, holdMsMax)] as const };
  });
  return { faults: bounded, skipped };
}

const nothing = async () => undefined;

function signalOnce(bed: ChaosBed, kind: 'SIGKILL' | 'SIGTERM', part: string, names = [part]): Fault {
  const begin = async () => {
    await Promise.all(names.map((name) => bed.signal(name, kind)));
    return { detail: part, end: nothing };
  };
  return { kind, part, holdMs: AT_ONCE, begin };
}

export function freeze(bed: ChaosBed, part: string): Fault {
  const begin = async () => {
    await bed.signal(part, 'SIGSTOP');
    return { detail: part, end: () => bed.signal(part, 'SIGCONT') };
  };
  return { kind: 'SIGSTOP, SIGCONT', part, holdMs: LONG, begin };
}

/** Breaks every connection to the part, and refuses new ones. */
export function refuseAll(bed: ChaosBed, part: string): Fault {
  const begin = async () => {
    const gates = [...bed.links].flatMap(([link, own]) => (link.endsWith(` ${part}`) ? own : []));
    await Promise.all(gates.map((gate) => gate.shut()));
    return { detail: part, end: () => openAll(gates) };
  };
  return { kind: 'connections refused', part, holdMs: LONG, begin };
}

async function openAll(gates: readonly TcpGate[]): Promise<void> {
  await Promise.all(gates.map((gate) => gate.open()));
}

function partsCalled({ links }: ChaosBed): ReadonlyMap<string, readonly string[]> {
  return Map.groupBy(links.keys(), (link) => link.split(' ')[1] ?? 'gateway');
}

/** Harms one caller's connections to a part. If the part has several addresses, harms all or one. */
function harmLinks(bed: ChaosBed, part: string, links: readonly string[]): readonly Fault[] {
  const fault = (
    kind: string,
    holdMs: Fault['holdMs'],
    harm: (gates: readonly TcpGate[], chance: Chance) => Promise<{ readonly by?: string; end(): Promise<void> }>,
  ): Fault => ({
    kind,
    part,
    holdMs,
    async begin(chance) {
      const link = chance.pickAny(links) ?? '';
      const all = bed.links.get(link) ?? [];
      const one = chance.pickAny(all);
      const isOne = all.length > 1 && chance.oneIn(2);
      const { by = '', end } = await harm(isOne && one !== undefined ? [one] : all, chance);
      return { detail: `${link}${isOne ? ', one address' : ''}${by}`, end };
    },
  });
  return [
    fault('connections cut', [0, 3_000], async (gates) => {
      await Promise.all(gates.map((gate) => gate.shut()));
      return { end: () => openAll(gates) };
    }),
    fault('packets lost', LONG, async (gates) => {
      for (const gate of gates) gate.cut();
      return { end: () => openAll(gates) };
    }),
    fault('delays', SHORT, async (gates, chance) => {
      const delayMs = chance.between(...DELAY_MS);
      const slow = async (ms: number) => {
        for (const gate of gates) gate.slow(ms);
      };
      await slow(delayMs);
      return { by: ` by ${delayMs} ms`, end: () => slow(0) };
    }),
  ];
}

function jumpClock(bed: ChaosBed, part: string): Fault {
  const begin = async (chance: Chance) => {
    const seconds = chance.pick(JUMPS_SECONDS);
    bed.setClock(part, seconds * 1000);
    return { detail: `${part} by ${seconds} s`, end: async () => bed.setClock(part, 0) };
  };
  return { kind: 'clock jump', part, holdMs: SHORT, begin };
}

function jumpChain(bed: ChaosBed): Fault {
  const begin = async (chance: Chance) => {
    const seconds = chance.between(2, CHAIN_JUMP_SECONDS_MAX);
    await bed.askChain('evm_increaseTime', [`0x${seconds.toString(16)}`]);
    return { detail: `anvil by ${seconds} s`, end: nothing };
  };
  return { kind: 'clock jump', part: 'anvil', holdMs: AT_ONCE, begin };
}

/** Tells the node of the watchers to misbehave. */
function tellNode(bed: ChaosBed): readonly Fault[] {
  const fault = (
    kind: string,
    draw: (chance: Chance) => { readonly by: string; readonly told: Partial<ToldFaults> },
  ) => ({
    kind,
    part: 'anvil',
    holdMs: LONG,
    async begin(chance: Chance) {
      const { by, told } = draw(chance);
      bed.harmed().tell(told);
      return { detail: `the node ${by}`, end: async () => bed.harmed().tell({}) };
    },
  });
  return [
    fault('goes back', (chance) => {
      const lagBlocks = chance.between(1, LAG_BLOCKS_MAX);
      return { by: `by ${lagBlocks} blocks`, told: { lagBlocks } };
    }),
    fault('half answers', () => ({ by: 'cuts its answers', told: { isHalf: true } })),
    fault('429', () => ({ by: 'refuses all', told: { status: 429 } })),
    fault('away', () => ({ by: 'is down', told: { isAway: true } })),
  ];
}

/** Stops the fetcher of the Kaia node. It continues where it was or at the head, with another producer id. */
function stopFetcher({ writer }: ChaosBed): readonly Fault[] {
  if (writer === undefined) return [];
  const begin = async (chance: Chance) => {
    const from = chance.pick(['checkpoint', 'head'] as const);
    writer.stop();
    return { detail: `fetcher, on from its ${from}`, end: async () => writer.start(from) };
  };
  return [{ kind: 'stands', part: 'topic', holdMs: LONG, begin }];
}

/** Stops the process from writing files. The process may end, and is then restarted with room. */
function fillDiskOf(bed: ChaosBed, part: string): Fault {
  const begin = async () => {
    const empty = fillDisk(bed.pid(part));
    return { detail: part, end: async () => empty() };
  };
  return { kind: 'disk full', part, holdMs: SHORT, begin };
}
