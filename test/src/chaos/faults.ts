import type { Chance } from '@makerbook/parts';
import { canFillDisk, fillDisk } from '../kit/fill-disk.js';
import { type ChaosBed, SERVICES } from './open-bed.js';

/** A harm that is done to one part and ends again. */
export interface Fault {
  readonly kind: string;
  /** What is harmed; of a connection the part that is called. */
  readonly part: string;
  /** How long it lasts is drawn between these, in milliseconds; 0: it is over at once. */
  readonly holdMs: readonly [least: number, most: number];
  /** @returns ends it; and what exactly was harmed */
  begin(chance: Chance): Promise<Begun>;
}

export interface Begun {
  readonly detail: string;
  end(): Promise<void>;
}

const JUMPS_SECONDS = [-3600, -40, 40, 3600] as const;
/** The chain's clock never goes back, so its jumps add up: they are small beside the life of an order. */
const CHAIN_JUMP_SECONDS_MAX = 20;
const DELAY_MS = [20, 400] as const;
const AT_ONCE = [0, 0] as const;
const SHORT = [1_000, 8_000] as const;
/** Beyond the time limits of the services. */
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
    // A node of Kaia loses no block. anvil does at SIGKILL, and at SIGTERM it writes its blocks first.
    ...bed.names.map((name) => signalOnce(bed, isChain(name) ? 'SIGTERM' : 'SIGKILL', name)),
    signalOnce(
      bed,
      'SIGKILL',
      'everything',
      bed.names.filter((name) => !isChain(name)),
    ),
    ...bed.names.map((name) => freeze(bed, name)),
    ...[...partsCalled(bed)].flatMap(([part, links]) => [
      breakLinks(bed, part, links),
      loseBytes(bed, part, links),
      delayBytes(bed, part, links),
    ]),
    ...SERVICES.map((service) => jumpClock(bed, service)),
    jumpChain(bed),
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

function signalOnce(bed: ChaosBed, signal: 'SIGKILL' | 'SIGTERM', part: string, names = [part]): Fault {
  return {
    kind: signal,
    part,
    holdMs: AT_ONCE,
    async begin() {
      await Promise.all(names.map((name) => bed.signal(name, signal)));
      return { detail: part, end: async () => undefined };
    },
  };
}

/** The process stands still. */
export function freeze(bed: ChaosBed, name: string): Fault {
  return {
    kind: 'SIGSTOP, SIGCONT',
    part: name,
    holdMs: LONG,
    async begin() {
      await bed.signal(name, 'SIGSTOP');
      return { detail: name, end: () => bed.signal(name, 'SIGCONT') };
    },
  };
}

/** Every connection to the part is broken, and new ones are refused. */
export function refuseAll(bed: ChaosBed, part: string): Fault {
  return {
    kind: 'connections refused',
    part,
    holdMs: LONG,
    async begin() {
      const gates = [...bed.links].flatMap(([link, own]) => (link.endsWith(` ${part}`) ? own : []));
      await Promise.all(gates.map((gate) => gate.shut()));
      return { detail: part, end: async () => void (await Promise.all(gates.map((gate) => gate.open()))) };
    },
  };
}

function partsCalled({ links }: ChaosBed): ReadonlyMap<string, readonly string[]> {
  const called = new Map<string, string[]>();
  for (const link of links.keys()) {
    const part = link.split(' ')[1] ?? 'gateway';
    called.set(part, [...(called.get(part) ?? []), link]);
  }
  return called;
}

/** One caller's connections to a part; of several addresses (brokers, HTTP and WebSocket) those to all or to one. */
function drawGates(bed: ChaosBed, links: readonly string[], chance: Chance) {
  const link = chance.pickAny(links) ?? '';
  const gates = bed.links.get(link) ?? [];
  const one = chance.pickAny(gates);
  const isOne = gates.length > 1 && chance.oneIn(2);
  return { link: isOne ? `${link}, one address` : link, gates: isOne && one !== undefined ? [one] : gates };
}

function breakLinks(bed: ChaosBed, part: string, links: readonly string[]): Fault {
  return {
    kind: 'connections cut',
    part,
    holdMs: [0, 3_000],
    async begin(chance) {
      const { link, gates } = drawGates(bed, links, chance);
      await Promise.all(gates.map((gate) => gate.shut()));
      return { detail: link, end: async () => void (await Promise.all(gates.map((gate) => gate.open()))) };
    },
  };
}

function loseBytes(bed: ChaosBed, part: string, links: readonly string[]): Fault {
  return {
    kind: 'packets lost',
    part,
    holdMs: LONG,
    async begin(chance) {
      const { link, gates } = drawGates(bed, links, chance);
      for (const gate of gates) gate.cut();
      return { detail: link, end: async () => void (await Promise.all(gates.map((gate) => gate.open()))) };
    },
  };
}

function delayBytes(bed: ChaosBed, part: string, links: readonly string[]): Fault {
  return {
    kind: 'delays',
    part,
    holdMs: SHORT,
    async begin(chance) {
      const { link, gates } = drawGates(bed, links, chance);
      const delayMs = chance.between(...DELAY_MS);
      for (const gate of gates) gate.slow(delayMs);
      return {
        detail: `${link} by ${delayMs} ms`,
        end: async () => {
          for (const gate of gates) gate.slow(0);
        },
      };
    },
  };
}

function jumpClock(bed: ChaosBed, service: string): Fault {
  return {
    kind: 'clock jump',
    part: service,
    holdMs: SHORT,
    async begin(chance) {
      const seconds = chance.pick(JUMPS_SECONDS);
      bed.setClock(service, seconds * 1000);
      return { detail: `${service} by ${seconds} s`, end: async () => bed.setClock(service, 0) };
    },
  };
}

function jumpChain(bed: ChaosBed): Fault {
  return {
    kind: 'clock jump',
    part: 'anvil',
    holdMs: AT_ONCE,
    async begin(chance) {
      const seconds = chance.between(2, CHAIN_JUMP_SECONDS_MAX);
      await bed.askChain('evm_increaseTime', [`0x${seconds.toString(16)}`]);
      return { detail: `anvil by ${seconds} s`, end: async () => undefined };
    },
  };
}

/** No file of the process can be written any more. It may end by that, and is started again with room. */
function fillDiskOf(bed: ChaosBed, name: string): Fault {
  return {
    kind: 'disk full',
    part: name,
    holdMs: SHORT,
    async begin() {
      const empty = fillDisk(bed.pid(name));
      return { detail: name, end: async () => empty() };
    },
  };
}
