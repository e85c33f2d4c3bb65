import { execFileSync } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { type LoadGenerator, openLoadGenerator } from '../kit/generate-load.js';
import type { PreparedRequest } from '../kit/send-requests.js';
import { type Contender, createRounds, withVariants } from './compare-services.js';
import { withBench } from './open-bench.js';
import { postOf } from './place-orders.js';
import { type BenchOptions, compare, type Figure } from './report.js';

const ORDERS = 100;
const REQUESTS = 100;
const AT_ONCE = 4;
const ONE_CORE = 'one process on one core';
const FREE = 'one process on all cores';
const TWO = 'two processes on all cores';

/**
 * How many signatures a second are verified by one ingress on one core, on all cores, and by two of them. The last signature of each
 * request is wrong: it costs ingress as much as a good one, and nothing behind it, which would take the cores away.
 */
export async function benchCores({ isQuick }: BenchOptions): Promise<readonly Figure[]> {
  const rounds = isQuick ? 2 : 10;
  return withBench((bench) =>
    withVariants(bench, 'ingress', [{ name: 'first' }, { name: 'second' }], async ([first, second]) => {
      if (first === undefined || second === undefined) throw new Error('two are started');
      const [maker, other] = await bench.openMakers(2, 1);
      if (maker === undefined || other === undefined) throw new Error('two makers are opened');
      const request = (): PreparedRequest => {
        const orders = Array.from({ length: ORDERS }, () => bench.signOrder(maker));
        const { signature } = bench.signOrder(other);
        return { ...postOf([...orders.slice(1), { ...bench.signOrder(maker), signature }]), status: 403 };
      };
      const requests = Array.from({ length: REQUESTS }, request);
      const load = openLoadGenerator();
      const taken = createRounds();
      for (let round = 0; round <= rounds; round += 1) {
        const rates = new Map<string, number>();
        pin(first, '0');
        rates.set(ONE_CORE, await measureRate(load, [first], requests));
        pin(first, `0-${availableParallelism() - 1}`);
        rates.set(FREE, await measureRate(load, [first], requests));
        rates.set(TWO, await measureRate(load, [first, second], requests));
        // The first round warms up.
        if (round > 0) for (const [name, rate] of rates) taken.add(name, rate);
      }
      load.close();
      return [FREE, TWO].map((name) =>
        compare(`${name}, by ${ONE_CORE}`, 'orders per s', taken.compare(name, ONE_CORE), { ratioMin: 1.7 }),
      );
    }),
  );
}

/** All threads of the process run on these cores. */
function pin({ pid }: Contender, cores: string): void {
  execFileSync('taskset', ['-acp', cores, String(pid)], { stdio: 'ignore' });
}

async function measureRate(
  load: LoadGenerator,
  contenders: readonly Contender[],
  requests: readonly PreparedRequest[],
): Promise<number> {
  const sent = await Promise.all(contenders.map(({ port }) => load.send(port, requests, { atOnce: AT_ONCE })));
  const seconds = Math.max(...sent.map((one) => one.seconds));
  return (contenders.length * requests.length * ORDERS) / seconds;
}
