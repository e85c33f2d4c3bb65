import { closeAll } from '@makerbook/contracts-primitives';
import { startTelemetry, type Telemetry, type TelemetrySettings } from '@makerbook/telemetry';
import { onStrayErrors } from './contain-errors.js';

/** How long stopping may take before the process exits all the same. */
const STOP_MS_MAX = 20_000;

/** A service that runs. */
export interface Running {
  /** Finishes what is under way and closes everything. */
  readonly stop: () => Promise<void>;
  /**
   * Settles with the error after which the service cannot continue. The process then stops: one that is alive and does
   * nothing is worse.
   */
  readonly failed: Promise<Error>;
}

/** Takes the reports of a starting service. */
export interface Starting {
  /** Registers `close`, to be called when the service stops or its start fails. The last one is called first. */
  readonly onStop: (close: () => unknown) => void;
  /** Reports that the service cannot continue. */
  readonly fail: (error: Error) => void;
}

/** Starts a service in this process. If the start fails, closes what it has opened. */
export async function startService<R extends object>(start: (starting: Starting) => Promise<R>): Promise<R & Running> {
  const { promise: failed, resolve: fail } = Promise.withResolvers<Error>();
  const closing: (() => unknown)[] = [];
  const stop = () => closeAll(closing.splice(0).reverse());
  try {
    return { ...(await start({ onStop: (close) => closing.push(close), fail })), failed, stop };
  } catch (error) {
    await stop().catch(() => undefined);
    throw error;
  }
}

/**
 * Runs a service's process: settings, telemetry, start, wait for SIGTERM or SIGINT, stop in order, exit with 0. A
 * signal during the start ends the process at once: nothing has been answered yet, and no more is left behind than
 * after a crash. A failed start, a later fatal error (also during the stop) or an uncaught error is written to standard
 * error, and the exit code is 1. An uncaught error that comes from a request ends that request alone.
 */
export async function runService<S extends TelemetrySettings>(
  name: string,
  readSettings: () => S,
  run: (settings: S, telemetry: Telemetry) => Promise<Running>,
): Promise<void> {
  onStrayErrors(die);
  const signal = new Promise<undefined>((resolve) => {
    process.once('SIGTERM', () => resolve(undefined));
    process.once('SIGINT', () => resolve(undefined));
  });
  try {
    const settings = readSettings();
    const telemetry = startTelemetry(name, settings);
    const running = await Promise.race([run(settings, telemetry), signal]);
    if (running === undefined) process.exit(0);
    await Promise.race([signal, running.failed]);
    setTimeout(() => die(new Error(`stopping took longer than ${STOP_MS_MAX} ms`)), STOP_MS_MAX).unref();
    await running.stop();
    await telemetry.stop();
    const failure = await Promise.race([running.failed, undefined]);
    if (failure !== undefined) throw failure;
    process.exit(0);
  } catch (error) {
    die(error);
  }
}

function die(error: unknown): void {
  const text = error instanceof Error ? (error.name === 'SettingsError' ? error.message : error.stack) : String(error);
  process.stderr.write(`${text}\n`, () => process.exit(1));
}
