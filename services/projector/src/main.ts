import { runService } from '@makerbook/http';
import { readSettings } from '@makerbook/settings';
import { projectorSettings } from './env.js';
import { runProjector } from './run.js';

await runService('projector', () => readSettings(projectorSettings, process.env), runProjector);
