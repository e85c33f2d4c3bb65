import { createInstruments } from '@makerbook/telemetry';
import type { Makers } from '@makerbook/whitelist';
import type { RouterAcks } from './acknowledge/follow-acks.js';
import type { Projection } from './acknowledge/follow-projection.js';

const boundaries = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];

/** The endpoints by which refusals are counted. `exit`: a maker's messages about all its orders. */
export type Endpoint = 'place' | 'cancel' | 'replace' | 'exit' | 'patch';

export type IngressMetrics = ReturnType<typeof createMetrics>;

interface MeasuredParts {
  readonly projection: Pick<Projection, 'lagSeconds'>;
  readonly makers: Pick<Makers, 'isCancelOnly'>;
  readonly acks?: Pick<RouterAcks, 'ageSeconds'> | undefined;
}

/** Counters and timers of the service. `@makerbook/http` counts requests by route and code. */
export function createMetrics({ projection, makers, acks }: MeasuredParts) {
  const { counter, histogram, gauge } = createInstruments('ingress');
  const accepted = counter('orders_accepted_total', 'Orders that were answered with 200');
  const cancelled = counter('orders_cancelled_total', 'Orders whose cancellation was answered with 200');
  const patched = counter('quotes_patched_total', 'Quotes that were answered with a new minimum');
  const refusals = counter(
    'refusals_total',
    'Requests that were refused, by endpoint (exit: about all orders of a maker) and code',
  );
  const step = histogram(
    'step_duration_seconds',
    'Time of one step of a request: parse, verify, decide, append or look_up',
    boundaries,
  );
  gauge('projection_lag_seconds', 'How long the rows have lacked a fact that was appended here', () =>
    projection.lagSeconds(),
  );
  gauge('cancel_only_modes', '1 while the service takes no orders, else 0', () => (makers.isCancelOnly() ? 1 : 0));
  gauge('router_ack_age_seconds', 'How long a router has not acknowledged some partition of the book, by router', () =>
    [...(acks?.ageSeconds() ?? [])].map(([router, age]) => [age, { router }] as const),
  );
  return {
    ordersAccepted: (count: number) => accepted.add(count),
    ordersCancelled: (count: number) => cancelled.add(count),
    quotePatched: () => patched.add(1),
    refused: (endpoint: Endpoint, code: string) => refusals.add(1, { endpoint, code }),
    /** Records a step that began at `startedAt`, by `performance.now()`. @returns now, when the next step begins */
    took(name: 'parse' | 'verify' | 'decide' | 'append' | 'look_up', startedAt: number): number {
      const endedAt = performance.now();
      step.record((endedAt - startedAt) / 1000, { step: name });
      return endedAt;
    },
  };
}
