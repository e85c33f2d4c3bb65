import { runService } from '@makerbook/http';
import { readSettings } from '@makerbook/settings';
import { feedSettings } from './env.js';
import { runFeed } from './run.js';

await runService('feed', () => readSettings(feedSettings, process.env), runFeed);
