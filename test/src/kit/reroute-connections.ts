import { Socket } from 'node:net';

type Route = [from: number, to: number];

/**
 * Is loaded before a service (`--import`). Connections to the first port of a pair in `REROUTE` (`<port>:<port>,…`) go
 * to the second port. So a test can put a gate between one process and a part, even Kafka, which tells its clients its
 * own address.
 */
const routes = new Map((process.env['REROUTE'] ?? '').split(',').map((pair) => pair.split(':').map(Number) as Route));
const connect = Socket.prototype.connect as (this: Socket, ...args: unknown[]) => Socket;

Socket.prototype.connect = function (this: Socket, ...args: unknown[]) {
  // `net.connect` hands over its arguments as one list, `[options, listener]`. pg calls with port and host.
  const list = Array.isArray(args[0]) ? args[0] : args;
  const [first] = list as unknown[];
  const to = routes.get(portOf(first));
  if (to !== undefined) list[0] = typeof first === 'object' ? { ...first, port: to } : to;
  return connect.apply(this, args);
} as typeof Socket.prototype.connect;

/** NaN if the first argument of a `connect` names no port. */
function portOf(first: unknown): number {
  return Number(typeof first === 'object' && first !== null && 'port' in first ? first.port : first);
}
