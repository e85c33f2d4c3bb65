import { closeAll } from '@makerbook/contracts-primitives';

/**
 * Collects steps that close what a command has opened. They run newest first, at its end or at a signal, which then
 * ends it with 1. If one step fails, the others still run.
 */
export function closeAtEnd() {
  const steps: (() => unknown)[] = [];
  let closed: Promise<void> | undefined;
  /** Closes once. The end of the work and a signal wait for the same closing. */
  const close = () => {
    closed ??= closeAll(steps.splice(0).reverse(), console.error).catch(() => undefined);
    return closed;
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'disconnect', 'uncaughtException'] as const) {
    // The terminal and npm may both pass a signal on.
    process.on(signal, (reason: unknown) => {
      if (reason instanceof Error) console.error(reason);
      void close().finally(() => process.exit(1));
    });
  }
  return { add: (step: () => unknown) => void steps.push(step), close, isClosing: () => closed !== undefined };
}
