import { runService } from '@makerbook/http';
import { startTelemetry } from '@makerbook/telemetry';
import { readEnvironment } from './env.js';
import { runQuery } from './run.js';

await runService(async () => {
  const settings = readEnvironment(process.env);
  const telemetry = startTelemetry({
    service: 'query',
    level: settings.LOG_LEVEL,
    exportSpans: settings.OTEL_EXPORTER_OTLP_ENDPOINT !== '',
  });
  const query = await runQuery(settings, { telemetry });
  return {
    failed: query.failed,
    stop: async () => {
      await query.stop();
      await telemetry.stop();
    },
  };
});
