/** A service that runs. `stop` finishes what is under way and closes everything. */
export interface Running {
  readonly stop: () => Promise<void>;
  /**
   * Settles when the service can do no more and is to be stopped: with the reason. A service that is alive and does nothing
   * is worse.
   */
  readonly failed?: Promise<Error>;
}

/**
 * The life of a service's process: start, wait for SIGTERM or SIGINT, stop in good order, exit with 0. A start that
 * fails, a fatal failure later (also one that comes to light while it stops) or an unhandled rejection is said on standard
 * error and exits with 1.
 * @param stopMsMax how long stopping may take before the process is ended all the same
 */
export async function runService(start: () => Promise<Running>, stopMsMax = 20_000): Promise<void> {
  process.on('unhandledRejection', (error) => die(error));
  let running: Running;
  try {
    running = await start();
  } catch (error) {
    return die(error);
  }
  const signal = new Promise<undefined>((resolve) => {
    process.once('SIGTERM', () => resolve(undefined));
    process.once('SIGINT', () => resolve(undefined));
  });
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
