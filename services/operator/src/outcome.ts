/** The output of a command and the exit code of its process. */
export interface Outcome {
  readonly lines: string[];
  readonly exitCode: 0 | 1;
}
