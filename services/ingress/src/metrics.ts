import { metrics } from '@makerbook/telemetry';
import type { Makers } from '@makerbook/whitelist';
import type { ProjectionLag } from './watch-projection-lag.js';

/** What the service counts and times. Requests by route and code are counted by `@makerbook/http`. */
export interface IngressMetrics {
  ordersAccepted(count: number): void;
  ordersCancelled(count: number): void;
  quotePatched(): void;
  refused(endpoint: 'place' | 'cancel' | 'patch', code: string): void;
  /** Milliseconds of one step of a request. */
  took(step: 'parse' | 'verify' | 'decide' | 'append' | 'look_up', ms: number): void;
  /** Starts the gauges of the read model's lag, and of whether orders are taken. */
  observe(lag: Pick<ProjectionLag, 'seconds'>, makers: Pick<Makers, 'isCancelOnly'>): void;
}

const boundaries = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];

export function createMetrics(): IngressMetrics {
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
  return {
    ordersAccepted: (count) => accepted.add(count),
    ordersCancelled: (count) => cancelled.add(count),
    quotePatched: () => patched.add(1),
    refused: (endpoint, code) => refusals.add(1, { endpoint, code }),
    took: (name, ms) => step.record(ms / 1000, { step: name }),
    observe: (source, makers) => {
      const lag = meter.createObservableGauge('ingress_projection_lag_seconds', {
        description: 'How long the read model has lacked something that this process has appended',
      });
      lag.addCallback((result) => result.observe(source.seconds()));
      const mode = meter.createObservableGauge('ingress_cancel_only_modes', {
        description: '1 while an operator has the service take no orders, else 0',
      });
      mode.addCallback((result) => result.observe(makers.isCancelOnly() ? 1 : 0));
    },
  };
}
