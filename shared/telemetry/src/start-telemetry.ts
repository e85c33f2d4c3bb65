import { readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { DiagLogLevel, diag, metrics } from '@opentelemetry/api';
import { OTLPMetricExporter as OtlpGrpc } from '@opentelemetry/exporter-metrics-otlp-grpc';
import { OTLPMetricExporter as OtlpJson } from '@opentelemetry/exporter-metrics-otlp-http';
import { OTLPMetricExporter as OtlpProtobuf } from '@opentelemetry/exporter-metrics-otlp-proto';
import { RuntimeNodeInstrumentation } from '@opentelemetry/instrumentation-runtime-node';
import { defaultResource, resourceFromAttributes } from '@opentelemetry/resources';
import { PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics';
import { NodeSDK } from '@opentelemetry/sdk-node';
import { ParentBasedSampler, TraceIdRatioBasedSampler } from '@opentelemetry/sdk-trace';
import { setCollectorHeaders } from './env.js';
import { createLogger, type Logger, type LogLevel } from './logger.js';
import { MetricsPage } from './metrics-page.js';

/**
 * The telemetry settings that are used here. OpenTelemetry's SDK itself reads all others, and the address of the
 * collector, from the environment. A setting that is left out is as in an empty environment.
 */
export interface TelemetrySettings {
  readonly LOG_LEVEL: LogLevel;
  readonly BUILD_REVISION?: string;
  readonly OTEL_TRACES_EXPORTER?: string;
  readonly OTEL_TRACES_SAMPLER?: string;
  readonly OTEL_TRACES_SAMPLER_ARG?: string;
  readonly OTEL_METRICS_EXPORTER?: string;
  readonly OTEL_METRIC_EXPORT_INTERVAL?: number;
  readonly OTEL_EXPORTER_OTLP_ENDPOINT?: string;
  readonly OTEL_EXPORTER_OTLP_TRACES_ENDPOINT?: string;
  readonly OTEL_EXPORTER_OTLP_PROTOCOL?: keyof typeof metricExporters;
  readonly OTEL_EXPORTER_OTLP_HEADERS?: string;
}

/** The telemetry of a process. */
export interface Telemetry {
  readonly logger: Logger;
  /** Answers a scrape in the Prometheus text format. */
  readonly serveMetrics: (request: IncomingMessage, response: ServerResponse) => void;
  /** Sends what is still unsent, if the collector takes it within some seconds, and ends. */
  readonly stop: () => Promise<void>;
}

const metricExporters = { grpc: OtlpGrpc, 'http/json': OtlpJson, 'http/protobuf': OtlpProtobuf };
const STOP_MS_MAX = 3_000;
const EXPORT_MS_MAX = 30_000;
const REPORT_INTERVAL_MS = 60_000;

/**
 * Starts OpenTelemetry. Call it once per process, before the first meter is made. Without an exporter of spans no span
 * is recorded and no trace begins. Traces that requests bring still continue, through the log and log lines.
 * @param service the service's name, unless `OTEL_SERVICE_NAME` or `OTEL_RESOURCE_ATTRIBUTES` has another
 */
export function startTelemetry(service: string, settings: TelemetrySettings): Telemetry {
  const logger = createLogger(service, settings.LOG_LEVEL);
  reportFailures(logger);
  setCollectorHeaders(settings.OTEL_EXPORTER_OTLP_HEADERS ?? '');
  const page = new MetricsPage();
  const sdk = new NodeSDK({
    resource: defaultResource().merge(resourceFromAttributes({ 'service.name': service })),
    instrumentations: [new RuntimeNodeInstrumentation()],
    metricReaders: [page, ...metricReaders(settings)],
    logRecordProcessors: [],
    ...tracing(settings),
  });
  sdk.start();
  showBuild(settings.BUILD_REVISION ?? 'unknown');
  return {
    logger,
    serveMetrics: (request, response) => page.getMetricsRequestHandler(request, response),
    stop: async () => {
      // A collector that is down must not keep the process alive.
      await Promise.race([sdk.shutdown().catch(() => undefined), pause(STOP_MS_MAX, undefined, { ref: false })]);
    },
  };
}

function tracing(settings: TelemetrySettings): ConstructorParameters<typeof NodeSDK>[0] {
  // Without a tracer no trace begins here, and a trace that a request brought continues unchanged.
  if (!exportsSpans(settings)) return { spanProcessors: [] };
  const { OTEL_TRACES_SAMPLER, OTEL_TRACES_SAMPLER_ARG } = settings;
  if (OTEL_TRACES_SAMPLER !== 'parentbased_traceidratio') return {};
  // This is the default of the settings. The SDK's own default samples every trace.
  return { sampler: new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(Number(OTEL_TRACES_SAMPLER_ARG)) }) };
}

function exportsSpans(settings: TelemetrySettings): boolean {
  const {
    OTEL_TRACES_EXPORTER = '',
    OTEL_EXPORTER_OTLP_ENDPOINT = '',
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT = '',
  } = settings;
  if (OTEL_TRACES_EXPORTER !== '') return OTEL_TRACES_EXPORTER !== 'none';
  return OTEL_EXPORTER_OTLP_ENDPOINT !== '' || OTEL_EXPORTER_OTLP_TRACES_ENDPOINT !== '';
}

/** Readers that also send metrics. The SDK takes readers from the environment or from here: the page is from here. */
function metricReaders(settings: TelemetrySettings): PeriodicExportingMetricReader[] {
  const { OTEL_METRICS_EXPORTER, OTEL_EXPORTER_OTLP_PROTOCOL: protocol = 'http/protobuf' } = settings;
  const { OTEL_METRIC_EXPORT_INTERVAL: exportIntervalMillis = 60_000 } = settings;
  if (OTEL_METRICS_EXPORTER !== 'otlp') return [];
  const exportTimeoutMillis = Math.min(exportIntervalMillis, EXPORT_MS_MAX);
  const exporter = new metricExporters[protocol]();
  return [new PeriodicExportingMetricReader({ exporter, exportIntervalMillis, exportTimeoutMillis })];
}

/** All packages of a release have one version. */
const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
  version: string;
};

function showBuild(revision: string): void {
  const description = '1, with the version and revision of the release that the process runs';
  const build = metrics.getMeter('build').createObservableGauge('makerbook_build_info', { description });
  build.addCallback((result) => result.observe(1, { version, revision }));
}

/** Writes the SDK's errors as log lines, but not one that follows soon after a written one. */
function reportFailures(logger: Logger): void {
  let reportedAtMs = Number.NEGATIVE_INFINITY;
  const nothing = () => undefined;
  const error = (reason: string) => {
    if (performance.now() - reportedAtMs < REPORT_INTERVAL_MS) return;
    reportedAtMs = performance.now();
    logger.warn({ reason }, 'telemetry was not sent');
  };
  diag.setLogger({ error, warn: nothing, info: nothing, debug: nothing, verbose: nothing }, DiagLogLevel.ERROR);
}
