import { runDefects } from '@makerbook/parts';
import { defects, service } from './defects.js';

await runDefects('simulate:service-defects', service, defects);
