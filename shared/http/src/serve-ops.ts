import type { IncomingMessage, ServerResponse } from 'node:http';
import type { opsSettings, SettingsOf } from '@makerbook/settings';
import { metrics, type Telemetry } from '@makerbook/telemetry';
import { type OpenServer, openServer } from './open-server.js';
import { type Reply, requestIdOf, toWire } from './reply.js';

const bounds = { headerBytesMax: 16 * 1024, requestTimeoutMs: 10_000, drainMs: 1_000 };

/** The health of a service. Each entry of `checks` is `ok`, or a sentence about what is missing. */
export interface Health {
  readonly isOk: boolean;
  readonly checks: Readonly<Record<string, string>>;
  /** Information only; health does not depend on it. */
  readonly notes?: Readonly<Record<string, string>>;
}

export interface Ops extends Pick<Telemetry, 'serveMetrics'> {
  /** Not ok only if a restart would help: the process is stuck. If left out, a process that answers is alive. */
  readonly live?: () => Health;
  /** Not ok while work cannot be done: a dependency is missing, or state is still catching up. */
  readonly ready: () => Health | Promise<Health>;
  /** Answers the other paths that operators may ask for. Undefined: nothing is there. */
  readonly tell?: ((path: string) => Promise<Reply> | undefined) | undefined;
}

/**
 * Opens the port for operators: `/livez`, `/readyz`, `/metrics`. Never on the port of the API.
 * @throws if the port cannot be opened
 */
export async function serveOps(
  { HOST, HOST_NAMES, OPS_PORT }: Pick<SettingsOf<typeof opsSettings>, 'HOST' | 'HOST_NAMES' | 'OPS_PORT'>,
  ops: Ops,
): Promise<OpenServer> {
  const ready = async () => {
    try {
      return await ops.ready();
    } catch (error) {
      return describeFailure(error);
    }
  };
  const { port, stop } = await openServer(
    async (request, response) => {
      try {
        await answer(request, response, { ...ops, ready });
      } catch (error) {
        write(response, describeFailure(error));
      }
    },
    { host: HOST, port: OPS_PORT, hostNames: HOST_NAMES, takesAddresses: true, ...bounds },
  );
  const stopObserving = observeReadiness(ready);
  return {
    port,
    stop: () => {
      stopObserving();
      return stop();
    },
  };
}

/** Health from named checks; each is `ok` or names what is missing. */
export function healthOf(checks: Readonly<Record<string, string>>): Health {
  return { isOk: Object.values(checks).every((check) => check === 'ok'), checks };
}

function describeFailure(error: unknown): Health {
  return healthOf({ health: error instanceof Error ? error.message : String(error) });
}

/** Shows the answer of `/readyz` as metrics at each scrape. */
function observeReadiness(judge: Ops['ready']): () => void {
  const meter = metrics.getMeter('ops');
  const ready = meter.createObservableGauge('service_ready', { description: '1 while /readyz says ok, else 0' });
  const passing = meter.createObservableGauge('service_check_passing', {
    description: '1 while a check of /readyz says ok, else 0',
  });
  const observe: Parameters<typeof meter.addBatchObservableCallback>[0] = async (result) => {
    const { isOk, checks } = await judge();
    result.observe(ready, isOk ? 1 : 0);
    for (const [check, state] of Object.entries(checks)) result.observe(passing, state === 'ok' ? 1 : 0, { check });
  };
  meter.addBatchObservableCallback(observe, [ready, passing]);
  return () => meter.removeBatchObservableCallback(observe, [ready, passing]);
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  { live, ready, serveMetrics, tell }: Ops,
): Promise<void> {
  const path = request.url?.split('?', 1)[0] ?? '';
  switch (path) {
    case '/livez':
      return write(response, live?.() ?? healthOf({}));
    case '/readyz':
      return write(response, await ready());
    case '/metrics':
      return serveMetrics(request, response);
    default: {
      const reply = await tell?.(path);
      if (reply === undefined) return void response.writeHead(404).end();
      const { status, contentType, body } = toWire(reply, requestIdOf(request));
      response.writeHead(status, { 'Content-Type': contentType }).end(body);
    }
  }
}

function write(response: ServerResponse, { isOk, checks, notes }: Health): void {
  const body = JSON.stringify({ status: isOk ? 'ok' : 'unavailable', checks, notes });
  response.writeHead(isOk ? 200 : 503, { 'Content-Type': 'application/json' }).end(`${body}\n`);
}
