import { runDefects } from '@makerbook/parts';
import { defects, projectors } from './defects.js';

await runDefects('simulate:projector-defects', projectors, defects);
