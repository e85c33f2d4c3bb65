/** A service that runs. `stop` finishes what is under way and closes everything. */
export interface Running {
  readonly stop: () => Promise<void>;
  /**
   * Settles with the error after which the service cannot go on; the process then stops. A process that is alive and does
   * nothing is worse.
   */
  readonly failed?: Promise<Error>;
}

/**
 * Runs a service's process: start, wait for SIGTERM or SIGINT, stop in order, exit with 0. A signal during the start ends
 * the process at once: nothing has been answered yet, and what was begun is what a crash leaves. A failed start, a fatal error
 * later (also while it stops) or an unhandled rejection is written to standard error; the exit code is then 1.
 * @param stopMsMax how long stopping may take before the process exits all the same
 */
export async function runService(start: () => Promise<Running>, stopMsMax = 20_000): Promise<void> {
  process.on('unhandledRejection', (error) => die(error));
  const signal = new Promise<undefined>((resolve) => {
    process.once('SIGTERM', () => resolve(undefined));
    process.once('SIGINT', () => resolve(undefined));
  });
  let running: Running | undefined;
  try {
    running = await Promise.race([start(), signal]);
  } catch (error) {
    return die(error);
  }
  if (running === undefined) process.exit(0);
  await Promise.race([signal, running.failed ?? signal]);
  setTimeout(() => die(new Error(`stopping took longer than ${stopMsMax} ms`)), stopMsMax).unref();
  try {
    await running.stop();
  } catch (error) {
    return die(error);
  }
  const failure = await Promise.race([running.failed, undefined]);
  if (failure !== undefined) return die(failure);
  process.exit(0);
}

function die(error: unknown): void {
  const text = error instanceof Error ? (error.name === 'SettingsError' ? error.message : error.stack) : String(error);
  process.stderr.write(`${text}\n`, () => process.exit(1));
}
