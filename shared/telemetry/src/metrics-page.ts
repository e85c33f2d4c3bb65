import { PrometheusExporter } from '@opentelemetry/exporter-prometheus';
import {
  AggregationTemporality,
  type CollectionResult,
  InstrumentType,
  type MetricData,
} from '@opentelemetry/sdk-metrics';

/** Units as Prometheus has them at the end of a name. Names with other units have them already. */
const units: Readonly<Record<string, string>> = { s: 'seconds', By: 'bytes', '1': 'ratio' };

/**
 * The metrics in the Prometheus text format, named as OpenTelemetry's specification says. The exporter's own names lack
 * the unit: `http_server_request_duration` instead of `http_server_request_duration_seconds`.
 */
export class MetricsPage extends PrometheusExporter {
  constructor() {
    super({ preventServerStart: true, withoutScopeInfo: true });
  }

  /** A gauge shows only what it reads now. Otherwise a partition that was given back would keep its lag for ever. */
  override selectAggregationTemporality(type: InstrumentType): AggregationTemporality {
    const { CUMULATIVE, DELTA } = AggregationTemporality;
    return type === InstrumentType.OBSERVABLE_GAUGE ? DELTA : CUMULATIVE;
  }

  override async collect(): Promise<CollectionResult> {
    const { resourceMetrics, errors } = await super.collect();
    // The machine's id comes later than the rest, and the exporter does not wait for it.
    await resourceMetrics.resource.waitForAsyncAttributes?.();
    const scopeMetrics = resourceMetrics.scopeMetrics.map(({ metrics, ...scope }) => ({
      ...scope,
      metrics: metrics.map(withUnit),
    }));
    return { resourceMetrics: { ...resourceMetrics, scopeMetrics }, errors };
  }
}

function withUnit(metric: MetricData): MetricData {
  const { name, unit } = metric.descriptor;
  const suffix = units[unit];
  if (suffix === undefined || name.endsWith(suffix)) return metric;
  return { ...metric, descriptor: { ...metric.descriptor, name: `${name}_${suffix}` } };
}
