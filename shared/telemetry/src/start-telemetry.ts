import type { IncomingMessage, ServerResponse } from 'node:http';
import { PrometheusExporter } from '@opentelemetry/exporter-prometheus';
import { NodeSDK } from '@opentelemetry/sdk-node';
import { createLogger, type Logger, type LogLevel } from './logger.js';

/** The telemetry of a service: log lines, metrics, and spans where an OTLP endpoint is given. */
export interface Telemetry {
  readonly logger: Logger;
  /** Answers a scrape in the Prometheus text format. */
  readonly serveMetrics: (request: IncomingMessage, response: ServerResponse) => void;
  /** Sends what is still unsent and ends. */
  readonly stop: () => Promise<void>;
}

/**
 * Starts OpenTelemetry once per process, before the first meter is created. Spans are exported only where the
 * standard variable `OTEL_EXPORTER_OTLP_ENDPOINT` names a collector: without one nothing is sent anywhere.
 * @param exportSpans whether a collector is named in the environment
 */
export function startTelemetry(options: { service: string; level: LogLevel; exportSpans: boolean }): Telemetry {
  const exporter = new PrometheusExporter({ preventServerStart: true, withoutScopeInfo: true });
  const sdk = new NodeSDK({
    serviceName: options.service,
    metricReaders: [exporter],
    autoDetectResources: false,
    logRecordProcessors: [],
    ...(options.exportSpans ? {} : { spanProcessors: [] }),
  });
  sdk.start();
  return {
    logger: createLogger(options.service, options.level),
    serveMetrics: (request, response) => exporter.getMetricsRequestHandler(request, response),
    stop: () => sdk.shutdown(),
  };
}
