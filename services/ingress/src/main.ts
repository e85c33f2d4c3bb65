import { runService } from '@makerbook/http';
import { startTelemetry } from '@makerbook/telemetry';
import { readEnvironment } from './env.js';
import { runIngress } from './run.js';

await runService(async () => {
  const settings = readEnvironment(process.env);
  const telemetry = startTelemetry('ingress', settings);
  const running = await runIngress(settings, { telemetry });
  return {
    ...running,
    stop: async () => {
      await running.stop();
      await telemetry.stop();
    },
  };
});
