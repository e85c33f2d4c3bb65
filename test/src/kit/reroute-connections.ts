import { Socket } from 'node:net';

/**
 * Loaded before a service (`--import`): connections to the first port of `REROUTE` (`<port>:<port>`) go to the second one. So
 * a test can put a gate between one process and Kafka, which names its own address to its clients.
 */
const [from = 0, to = 0] = (process.env['REROUTE'] ?? '').split(':').map(Number);
const connect = Socket.prototype.connect as (this: Socket, ...args: unknown[]) => Socket;

Socket.prototype.connect = function (this: Socket, ...args: unknown[]) {
  // `net.connect` hands over its arguments as one list, `[options, listener]`.
  const list = Array.isArray(args[0]) ? args[0] : args;
  const [options] = list as unknown[];
  if (isTo(options, from)) list[0] = { ...options, port: to };
  return connect.apply(this, args);
} as typeof Socket.prototype.connect;

function isTo(options: unknown, port: number): options is object {
  return typeof options === 'object' && options !== null && 'port' in options && Number(options.port) === port;
}
