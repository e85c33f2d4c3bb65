import { type LoadGenerator, openLoadGenerator } from '../kit/generate-load.js';
import type { PreparedRequest } from '../kit/send-requests.js';
import type { MakerKey, OrderToPost } from '../kit/sign-orders.js';
import { type Contender, createRounds, inTurn, measureRequests, withBefore, withVariants } from './compare-services.js';
import { createStages } from './measure-stages.js';
import { type Bench, withBench } from './open-bench.js';
import { ORDERS_PER_MAKER, placeOrders } from './place-orders.js';
import { type BenchOptions, compare, type Figure } from './report.js';

const PER_REQUEST = 100;
const AT_ONCE = 4;
/** A round cancels all orders of so many makers. */
const MAKERS_PER_ROUND = 2;
const VERIFIED_ORDERS = 500;
const INGRESS = 'ingress';
const VERIFY = 'verify';

/** CPU of ingress for each order that is cancelled, 100 in a request, in both forms, against verifying one order. */
export async function benchCancel({ isQuick, against }: BenchOptions): Promise<readonly Figure[]> {
  const rounds = isQuick ? 1 : 6;
  return withBench((bench) =>
    withVariants(bench, 'ingress', withBefore(INGRESS, against), async (services) => {
      const load = openLoadGenerator();
      const parts: Parts = { bench, load, services, rounds };
      const figures = [
        ...(await measure(parts, `DELETE of ${PER_REQUEST}`, bench.signCancel)),
        // What came before may not have this form.
        ...(await measure(
          { ...parts, services: services.slice(0, 1) },
          `POST …/cancellations of ${PER_REQUEST}`,
          bench.signCancelInBody,
        )),
      ];
      load.close();
      return figures;
    }),
  );
}

interface Parts {
  readonly bench: Bench;
  readonly load: LoadGenerator;
  readonly services: readonly Contender[];
  readonly rounds: number;
}

/** One form, in so many rounds after one to warm up. */
async function measure(
  { bench, load, services, rounds }: Parts,
  form: string,
  sign: (maker: MakerKey, ...orders: readonly OrderToPost[]) => PreparedRequest,
): Promise<readonly Figure[]> {
  const count = (rounds + 1) * services.length * MAKERS_PER_ROUND;
  const makers = await bench.openMakers(count, ORDERS_PER_MAKER);
  const verified = Array.from({ length: VERIFIED_ORDERS }, () => bench.signOrder(makers[0] as MakerKey));
  const measureStages = createStages(bench.domain, verified);
  const taken = createRounds();
  for (let round = 0; round <= rounds; round += 1) {
    const us = new Map([[VERIFY, (await measureStages()).verify]]);
    for (const contender of inTurn(services, round)) {
      const placed = await placeOrders(bench, load, makers.splice(0, MAKERS_PER_ROUND), ORDERS_PER_MAKER);
      const ready = [...placed].flatMap(([maker, orders]) =>
        Array.from({ length: orders.length / PER_REQUEST }, (_, index) =>
          sign(maker, ...orders.slice(index * PER_REQUEST, (index + 1) * PER_REQUEST)),
        ),
      );
      us.set(contender.name, (await measureRequests(load, contender, ready, AT_ONCE)) / PER_REQUEST);
    }
    // The first round warms up.
    if (round > 0) for (const [name, value] of us) taken.add(name, value);
  }
  const unit = 'µs of CPU per order';
  return services.map(({ name }) =>
    name === INGRESS
      ? compare(`${form}: ingress, by verify`, unit, taken.compare(INGRESS, VERIFY), { ratioMax: 1.5 })
      : compare(`${form}: ingress, by ${name}`, unit, taken.compare(INGRESS, name)),
  );
}
