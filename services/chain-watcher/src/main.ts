import { runService } from '@makerbook/http';
import { readSettings } from '@makerbook/settings';
import { startTelemetry } from '@makerbook/telemetry';
import { watcherSettings } from './env.js';
import { runWatcher } from './run.js';

await runService(async () => {
  const settings = readSettings(watcherSettings, process.env);
  const telemetry = startTelemetry('chain-watcher', settings);
  const running = await runWatcher(settings, { telemetry });
  return {
    failed: running.failed,
    stop: async () => {
      await running.stop();
      await telemetry.stop();
    },
  };
});
