import { runService } from '@makerbook/http';
import { startTelemetry } from '@makerbook/telemetry';
import { readEnvironment } from './env.js';
import { runQuery } from './run.js';

await runService(async () => {
  const settings = readEnvironment(process.env);
  const telemetry = startTelemetry('query', settings);
  const query = await runQuery(settings, { telemetry });
  return {
    failed: query.failed,
    stop: async () => {
      await query.stop();
      await telemetry.stop();
    },
  };
});
