import { runService } from '@makerbook/http';
import { readEnvironment } from './env.js';
import { runQuery } from './run.js';

await runService('query', () => readEnvironment(process.env), runQuery);
