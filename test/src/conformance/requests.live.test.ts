import { afterAll, beforeAll, describe } from '@jest/globals';
import { testHostileRequests } from '../abuse/test-hostile-requests.js';
import { testEndpoints } from '../fuzz/test-endpoints.js';
import { type OpenBed, openBed } from './open-bed.js';
import { testCosts } from './test-costs.js';
import { testAbsence, testCompleteness, testErrors } from './test-errors.js';
import { testUnits } from './test-units.js';

let opened: OpenBed | undefined;
const bed = (): OpenBed => {
  if (opened === undefined) throw new Error('the stack did not start');
  return opened;
};

beforeAll(async () => {
  opened = await openBed();
});
afterAll(() => opened?.stop());

// These run one after another on one stack.
describe('the rows of errors', testCompleteness);
describe('errors', () => testErrors(bed));
describe('units', () => testUnits(bed));
describe('costs', () => testCosts(bed));
describe('hostile requests', () => testHostileRequests(bed));
describe('fuzz', () => testEndpoints(() => bed().stack));
describe('a service that is gone', () => testAbsence(bed));
