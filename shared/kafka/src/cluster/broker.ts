import { isIP } from 'node:net';
import { type API, Connection, ResponseError } from '@platformatic/kafka';
import { LogUnavailable, unavailable } from '../failures.js';
import type { ConnectOptions } from '../log.js';
import { type Deadline, within } from './deadline.js';
import { refusalOf } from './error-codes.js';

export interface Address {
  readonly host: string;
  readonly port: number;
}

const CONNECT_TIMEOUT_MS = 3_000;
/** Every call has its own deadline, so the library's is never reached. */
const REQUEST_TIMEOUT_MS = 600_000;
/** Above its bound the library would queue requests and send them later, perhaps after their calls have failed. */
const IN_FLIGHT_MAX = 1_000_000;

/** `tell` is called each time a call has waited another `afterMs` for its answer. */
export interface LateCalls {
  readonly afterMs: number;
  readonly tell: () => void;
}

/**
 * One connection to one broker. It opens with the first call, and again after a loss. A call that fails without an
 * answer, or has none at its deadline, closes the connection and fails all calls on it. So nothing is sent after its
 * caller got an error.
 */
export class Broker {
  readonly address: Address;
  readonly #options: ConnectOptions;
  readonly #late: LateCalls | undefined;
  #connection: Connection | undefined;
  #opening: Promise<void> = Promise.resolve();
  #isClosed = false;

  constructor(address: Address, options: ConnectOptions, late?: LateCalls) {
    this.address = address;
    this.#options = options;
    this.#late = late;
  }

  /**
   * Sends one request and answers with the decoded response. Throws KafkaRefused if the response holds an error code,
   * else LogUnavailable, whose `mayHaveBeenAppended` says if the request may have reached the broker.
   */
  async call<Request extends unknown[], Response>(
    api: API<Request, Response>,
    deadline: Deadline,
    ...request: Request
  ): Promise<Response> {
    const where = `${this.address.host}:${this.address.port}`;
    if (this.#isClosed) throw unavailable(`the connection to ${where} is closed`);
    const connection = this.#connection ?? this.#open();
    let isSent = false;
    const exchange = async () => {
      await this.#opening;
      if (this.#connection !== connection) throw new Error('the connection was closed');
      isSent = true;
      return api.async(connection, ...request);
    };
    const late = this.#late && setInterval(this.#late.tell, this.#late.afterMs);
    try {
      return await within(deadline, exchange(), () => new Error('no answer in time'));
    } catch (error) {
      if (error instanceof ResponseError) throw refusalOf(error);
      if (this.#connection === connection) this.drop();
      const { message, cause } = error as Error & { cause?: Error };
      const reason = cause === undefined ? message : `${message} (${cause.message})`;
      throw new LogUnavailable(`${where}: ${reason}`, { mayHaveBeenAppended: isSent, cause: error });
    } finally {
      clearInterval(late);
    }
  }

  #open(): Connection {
    const { clientId, tls, sasl } = this.#options;
    const { host, port } = this.address;
    const connection = new Connection(clientId, {
      connectTimeout: CONNECT_TIMEOUT_MS,
      requestTimeout: REQUEST_TIMEOUT_MS,
      maxInflights: IN_FLIGHT_MAX,
      ...(tls && { tls, tlsServerName: isIP(host) === 0 }),
      ...(sasl && { sasl }),
    });
    connection.on('error', () => undefined);
    connection.on('close', () => {
      if (this.#connection === connection) this.#connection = undefined;
    });
    this.#connection = connection;
    this.#opening = Promise.resolve(connection.connect(host, port));
    this.#opening.catch(() => undefined);
    return connection;
  }

  /** Closes the connection and fails its calls; the next call opens another one. */
  drop(): void {
    const connection = this.#connection;
    this.#connection = undefined;
    connection?.socket?.destroy(new Error('the connection was given up'));
  }

  close(): void {
    this.#isClosed = true;
    this.drop();
  }
}
