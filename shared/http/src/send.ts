import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { Request, Response } from 'express';
import { hasBody } from './read-body.js';
import { type Reply, toWire } from './reply.js';

/** A body of which so much is left is read to its end, so that the connection can be used again. */
const UNREAD_BYTES_MAX = 65_536;
/** How long a client has to take the answer before its connection is cut. */
const LINGER_MS = 500;

/** Answers a request, once. `requestId` goes into a problem. */
export function send(request: Request, response: Response, reply: Reply, requestId: string): void {
  if (response.headersSent || response.destroyed) return;
  const wire = toWire(reply, requestId);
  response.statusCode = wire.status;
  for (const [name, value] of Object.entries(wire.headers)) {
    if (name.startsWith('RateLimit')) response.append(name, value);
    else response.setHeader(name, value);
  }
  response.setHeader('Content-Type', wire.contentType);
  response.setHeader('Content-Length', Buffer.byteLength(wire.body));
  if (isLongUnread(request)) {
    response.setHeader('Connection', 'close');
    stopReading(request);
  }
  response.end(wire.body);
}

function isLongUnread(request: IncomingMessage): boolean {
  if (request.complete || !hasBody(request)) return false;
  const bytes = Number(request.headers['content-length'] ?? Number.POSITIVE_INFINITY);
  return !(bytes <= UNREAD_BYTES_MAX);
}

/** The rest of the body stays with the client: its connection is closed, a moment after the answer. */
function stopReading(request: IncomingMessage): void {
  // Otherwise the server reads an unused body to its end.
  request.read(0);
  request.pause();
  // What the server calls after the answer. At once, with bytes unread, it could take the answer away from the client.
  request.socket.destroySoon = () => closeSoon(request.socket);
}

/** Ends the writing side, stops reading, and cuts the connection when the client has had time to read. */
export function closeSoon(socket: Socket): void {
  socket.pause();
  socket.end();
  const cut = setTimeout(() => socket.destroy(), LINGER_MS);
  socket.once('close', () => clearTimeout(cut));
}
