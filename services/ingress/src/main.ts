import { runService } from '@makerbook/http';
import { startTelemetry } from '@makerbook/telemetry';
import { exportsSpans, readEnvironment } from './env.js';
import { runIngress } from './run.js';

await runService(async () => {
  const settings = readEnvironment(process.env);
  const exportSpans = exportsSpans(process.env);
  const telemetry = startTelemetry({ service: 'ingress', level: settings.LOG_LEVEL, exportSpans });
  const running = await runIngress(settings, { telemetry });
  return {
    ...running,
    stop: async () => {
      await running.stop();
      await telemetry.stop();
    },
  };
});
