import { writeFileSync } from 'node:fs';

/** The variable that names the file for the counts. */
export const COUNTS_FILE_VARIABLE = 'MAKERBOOK_TEST_COUNTS';

/** The fields of Jest's results that the reporter reads. */
type RunResults = Readonly<Record<'numPassedTests' | 'numFailedTests' | 'numRuntimeErrorTestSuites', number>>;

/** How many tests passed and failed. A test file that does not load counts as a failed test. */
export type Counts = { readonly passed: number; readonly failed: number };

/**
 * A Jest reporter that writes the counts of a run to a file.
 * Jest's own JSON holds every failure in full, and cannot be written if a failure holds a bigint.
 */
export default class CountTests {
  onRunComplete(_contexts: unknown, results: RunResults): void {
    const failed = results.numFailedTests + results.numRuntimeErrorTestSuites;
    const counts: Counts = { passed: results.numPassedTests, failed };
    const file = process.env[COUNTS_FILE_VARIABLE];
    if (file !== undefined) writeFileSync(file, JSON.stringify(counts));
  }
}
