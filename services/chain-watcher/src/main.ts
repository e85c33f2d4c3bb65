import { runService } from '@makerbook/http';
import { readSettings } from '@makerbook/settings';
import { watcherSettings } from './env.js';
import { runWatcher } from './run.js';

await runService('chain-watcher', () => readSettings(watcherSettings, process.env), runWatcher);
