import { type Attributes, metrics } from '@opentelemetry/api';

/** The values of a gauge: one, or several that their labels tell apart. */
export type Shown = number | Iterable<readonly [value: number, labels: Attributes]>;

export type Instruments = ReturnType<typeof createInstruments>;

const unitOfTime = (what: string) => (what.endsWith('_seconds') ? 's' : '');

/** The instruments of a service, named after it. @param unitOf gives the unit for the rest of a name */
export function createInstruments(service: string, unitOf: (what: string) => string = unitOfTime) {
  const meter = metrics.getMeter(service);
  const nameOf = (what: string) => `${service.replaceAll('-', '_')}_${what}`;
  const optionsOf = (what: string, description: string) => ({ description, unit: unitOf(what) });
  const observe = (kind: 'Gauge' | 'Counter') => (what: string, description: string, read: () => Shown) => {
    meter[`createObservable${kind}`](nameOf(what), optionsOf(what, description)).addCallback((result) => {
      const shown = read();
      if (typeof shown === 'number') result.observe(shown);
      else for (const [value, labels] of shown) result.observe(value, labels);
    });
  };
  return {
    counter: (what: string, description: string) => meter.createCounter(nameOf(what), optionsOf(what, description)),
    histogram: (what: string, description: string, explicitBucketBoundaries: number[]) =>
      meter.createHistogram(nameOf(what), { ...optionsOf(what, description), advice: { explicitBucketBoundaries } }),
    gauge: observe('Gauge'),
    /** A counter that is read at each scrape. */
    observedCounter: observe('Counter'),
  };
}
