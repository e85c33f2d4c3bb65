import { type Exchange, isStream, openRaw, type RawConnection } from '../kit/raw-http.js';
import type { WireRequest } from './mutate-requests.js';

/** Longer than any answer takes. A request that is not whole has 10 s to become so. */
const HANG_MS = 120_000;
/** More answers than the bytes of any request get. */
const ANSWERS_MAX = 8;

/** Sends requests to one port. Connections whose requests are whole are reused. */
export function openWireSender(port: number) {
  const idle: RawConnection[] = [];
  return {
    async send({ bytes, isFramed }: Pick<WireRequest, 'bytes' | 'isFramed'>, isHead: boolean): Promise<Exchange> {
      const kept = isFramed ? idle.pop() : undefined;
      const connection = kept?.socket.writable ? kept : await openRaw('127.0.0.1', port);
      if (!isFramed) {
        // End the stream, so that the other side knows that no more will come.
        connection.socket.end(bytes);
        const exchange = await connection.read({ answers: ANSWERS_MAX, timeoutMs: HANG_MS, isHead });
        connection.close();
        return exchange;
      }
      connection.socket.write(bytes);
      const exchange = await connection.read({ answers: 1, timeoutMs: HANG_MS, isHead });
      const [answer] = exchange.answers;
      const isOver = exchange.end !== 'answered' || answer?.headers.get('connection') === 'close' || isStream(answer);
      if (isOver || exchange.rest.length > 0) connection.close();
      else idle.push(connection);
      return exchange;
    },
    close() {
      for (const connection of idle) connection.close();
    },
  };
}
