import { runService } from '@makerbook/http';
import { readSettings } from '@makerbook/settings';
import { querySettings } from './env.js';
import { runQuery } from './run.js';

await runService('query', () => readSettings(querySettings, process.env), runQuery);
