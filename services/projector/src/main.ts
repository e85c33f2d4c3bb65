import { runService } from '@makerbook/http';
import { readSettings } from '@makerbook/settings';
import { startTelemetry } from '@makerbook/telemetry';
import { projectorSettings } from './env.js';
import { runProjector } from './run.js';

await runService(async () => {
  const settings = readSettings(projectorSettings, process.env);
  const telemetry = startTelemetry('projector', settings);
  const running = await runProjector(settings, telemetry);
  return {
    failed: running.failed,
    stop: async () => {
      await running.stop();
      await telemetry.stop();
    },
  };
});
