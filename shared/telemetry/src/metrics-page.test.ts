import { expect, test } from '@jest/globals';
import { MeterProvider } from '@opentelemetry/sdk-metrics';
import { MetricsPage } from './metrics-page.js';

test('a gauge drops what it no longer reads, and a counter goes on', async () => {
  const page = new MetricsPage();
  const meter = new MeterProvider({ readers: [page] }).getMeter('test');
  let partitions = [1, 2];
  meter.createObservableGauge('lag').addCallback((lag) => {
    for (const partition of partitions) lag.observe(partition * 10, { partition });
  });
  const counter = meter.createCounter('taken');
  const read = async () => {
    counter.add(1);
    const [{ metrics = [] } = {}] = (await page.collect()).resourceMetrics.scopeMetrics;
    return metrics.flatMap(({ dataPoints }) => dataPoints.map(({ value }) => value));
  };
  expect(await read()).toEqual([10, 20, 1]);
  partitions = [2];
  expect(await read()).toEqual([20, 2]);
  expect(await read()).toEqual([20, 3]);
});
