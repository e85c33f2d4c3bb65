import { runDefects } from '@makerbook/parts';
import { defects, watchers } from './defects.js';

await runDefects('simulate:defects', watchers, defects);
