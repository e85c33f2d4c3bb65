import { runService } from '@makerbook/http';
import { readEnvironment } from './env.js';
import { runIngress } from './run.js';

await runService('ingress', () => readEnvironment(process.env), runIngress);
