import { createServer, type IncomingHttpHeaders } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { startTelemetry } from './start-telemetry.js';

test('requests to a collector carry the header fields of the settings', async () => {
  const seen: IncomingHttpHeaders[] = [];
  const collector = createServer((request, response) => {
    seen.push(request.headers);
    request.resume();
    request.on('end', () => response.writeHead(200, { 'Content-Type': 'application/json' }).end('{}'));
  });
  await new Promise<void>((resolve) => collector.listen(0, '127.0.0.1', resolve));
  const { port } = collector.address() as { port: number };
  process.env['OTEL_EXPORTER_OTLP_ENDPOINT'] = `http://127.0.0.1:${port}`;
  const telemetry = startTelemetry('test', {
    LOG_LEVEL: 'error',
    OTEL_METRICS_EXPORTER: 'otlp',
    OTEL_METRIC_EXPORT_INTERVAL: 200,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
    OTEL_EXPORTER_OTLP_HEADERS: 'x-key=abc',
  });
  while (seen.length === 0) await pause(20);
  expect(seen[0]).toMatchObject({ 'x-key': 'abc' });
  await telemetry.stop();
  await new Promise((resolve) => collector.close(resolve));
});
