import { metrics } from '@makerbook/telemetry';
import type { Parts } from './parts.js';

const boundaries = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];

export type IngressMetrics = ReturnType<typeof createMetrics>;

/** Counters and timers of the service. `@makerbook/http` counts requests by route and code. */
export function createMetrics({ rows, makers }: Pick<Parts, 'rows' | 'makers'>) {
  const meter = metrics.getMeter('ingress');
  const accepted = meter.createCounter('ingress_orders_accepted_total', {
    description: 'Orders that were answered with 200',
  });
  const cancelled = meter.createCounter('ingress_orders_cancelled_total', {
    description: 'Orders of which the cancellation was answered with 200',
  });
  const patched = meter.createCounter('ingress_quotes_patched_total', {
    description: 'Quotes that were answered with a new minimum',
  });
  const refusals = meter.createCounter('ingress_refusals_total', {
    description: 'Requests that were refused, by endpoint and code',
  });
  const step = meter.createHistogram('ingress_step_duration_seconds', {
    unit: 's',
    description: 'Time of one step of a request: parse, verify, decide, append, look_up',
    advice: { explicitBucketBoundaries: boundaries },
  });
  meter
    .createObservableGauge('ingress_projection_lag_seconds', {
      description: 'How long the read model has lacked something that this process has appended',
    })
    .addCallback((result) => result.observe(rows.lagSeconds()));
  meter
    .createObservableGauge('ingress_cancel_only_modes', {
      description: '1 while an operator has the service take no orders, else 0',
    })
    .addCallback((result) => result.observe(makers.isCancelOnly() ? 1 : 0));
  return {
    ordersAccepted: (count: number) => accepted.add(count),
    ordersCancelled: (count: number) => cancelled.add(count),
    quotePatched: () => patched.add(1),
    refused: (endpoint: 'place' | 'cancel' | 'patch', code: string) => refusals.add(1, { endpoint, code }),
    took: (name: 'parse' | 'verify' | 'decide' | 'append' | 'look_up', ms: number) =>
      step.record(ms / 1000, { step: name }),
  };
}
