import { readFileSync } from 'node:fs';

/**
 * Is loaded before a service (`--import`). Sets the service's clock ahead of the machine's by the milliseconds in the
 * file that `CLOCK_FILE` names. Timers and `performance.now()` do not change, just as when a machine's clock is set.
 */
const file = process.env['CLOCK_FILE'] ?? '';
const READ_INTERVAL_MS = 50;
const machineNow = Date.now;
let aheadMs = 0;

function readAhead(): void {
  try {
    aheadMs = Number(readFileSync(file, 'utf8'));
  } catch {
    aheadMs = 0;
  }
}

readAhead();
setInterval(readAhead, READ_INTERVAL_MS).unref();
const now = () => machineNow() + aheadMs;
Date.now = now;
globalThis.Date = new Proxy(Date, {
  construct: (target, args, newTarget) => Reflect.construct(target, args.length === 0 ? [now()] : args, newTarget),
});
