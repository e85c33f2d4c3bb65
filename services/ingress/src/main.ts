import { runService } from '@makerbook/http';
import { readSettings } from '@makerbook/settings';
import { ingressSettings } from './env.js';
import { runIngress } from './run.js';

await runService('ingress', () => readSettings(ingressSettings, process.env), runIngress);
