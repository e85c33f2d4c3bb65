import { type DestinationStream, pino } from 'pino';
import { activeIds } from './carry-trace.js';

type Write = (fields: object, message: string) => void;

/** Writes one JSON line per call. Fields first, then a sentence for a person. */
export interface Logger {
  readonly debug: Write;
  readonly info: Write;
  readonly warn: Write;
  readonly error: Write;
}

/** The least severe level that is written. */
export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

/**
 * A logger of JSON lines on standard output: `level`, `time` (ISO 8601), `service`, the fields, `msg`, and, if a span
 * is active, `trace_id` and `span_id`. An `error` field that holds an Error is written with type, message and stack.
 */
export function createLogger(service: string, level: LogLevel, destination?: DestinationStream): Logger {
  const options = {
    level,
    base: { service },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    serializers: { error: pino.stdSerializers.errWithCause },
    mixin: activeIds,
  };
  const logger = destination === undefined ? pino(options) : pino(options, destination);
  return {
    debug: (fields, message) => logger.debug(fields, message),
    info: (fields, message) => logger.info(fields, message),
    warn: (fields, message) => logger.warn(fields, message),
    error: (fields, message) => logger.error(fields, message),
  };
}

/** A logger that writes nothing, for tests of parts that must be given one. */
export const silentLogger: Logger = { debug: nothing, info: nothing, warn: nothing, error: nothing };

function nothing(): void {
  // Writes nothing.
}
