import { Socket } from 'node:net';

type Route = [from: number, to: number];

/**
 * Loaded before a service (`--import`): connections to the first port of a pair of `REROUTE` (`<port>:<port>,…`) go to its second
 * one. So a test can put a gate between one process and a part, also Kafka, which names its own address to its clients.
 */
const routes = new Map((process.env['REROUTE'] ?? '').split(',').map((pair) => pair.split(':').map(Number) as Route));
const connect = Socket.prototype.connect as (this: Socket, ...args: unknown[]) => Socket;

Socket.prototype.connect = function (this: Socket, ...args: unknown[]) {
  // `net.connect` hands over its arguments as one list, `[options, listener]`.
  const list = Array.isArray(args[0]) ? args[0] : args;
  const [options] = list as unknown[];
  const port = portOf(options);
  const to = port === undefined ? undefined : routes.get(port);
  if (to !== undefined) list[0] = { ...(options as object), port: to };
  return connect.apply(this, args);
} as typeof Socket.prototype.connect;

function portOf(options: unknown): number | undefined {
  return typeof options === 'object' && options !== null && 'port' in options ? Number(options.port) : undefined;
}
