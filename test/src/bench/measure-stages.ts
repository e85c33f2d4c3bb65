import { encodeMakerEvent } from '@makerbook/contracts-events';
import type { SigningDomain } from '@makerbook/contracts-evm';
import { placeOrders, recordStart } from '@makerbook/domain';
import { createOrderVerifier, parsePlacements } from '@makerbook/ingress';
import { bodyOf, type OrderToPost } from '../kit/sign-orders.js';

const PER_REQUEST = 100;
const atOnce = async () => undefined;

/** CPU of this process for each order, in microseconds, of what ingress does by itself with the orders of a POST of 100. */
export type Stages = Readonly<Record<'parse' | 'verify' | 'describe', number>>;

/** Makes the function that takes the orders through the stages of ingress that need no other part, as ingress calls them. */
export function createStages(domain: SigningDomain, orders: readonly OrderToPost[]): () => Promise<Stages> {
  const verify = createOrderVerifier(domain);
  const bodies = Array.from({ length: orders.length / PER_REQUEST }, (_, index) =>
    bodyOf(orders.slice(index * PER_REQUEST, (index + 1) * PER_REQUEST)),
  );
  const measure = async <T>(work: () => T): Promise<readonly [Awaited<T>, number]> => {
    const before = process.cpuUsage();
    const result = await work();
    const { user, system } = process.cpuUsage(before);
    return [result, (user + system) / orders.length];
  };
  return async () => {
    const [placements, parse] = await measure(() =>
      bodies.map((body) => accepted(parsePlacements(JSON.parse(body.toString()), PER_REQUEST))),
    );
    const [proven, verifying] = await measure(async () => {
      const all = [];
      for (const some of placements) all.push(accepted(await verify(some, atOnce)));
      return all;
    });
    const [, describe] = await measure(() => {
      for (const some of proven) {
        for (const fact of placeOrders(some, 0, { kind: 'request', requestId: 'bench' })) {
          encodeMakerEvent(fact, { id: fact.orderHash, source: 'bench', timeMs: 0 });
        }
        some.map(recordStart).join(',');
      }
    });
    return { parse, verify: verifying, describe };
  };
}

function accepted<T>(result: readonly T[] | { readonly code: string; readonly detail: string }): readonly T[] {
  if ('code' in result) throw new Error(result.detail);
  return result;
}
