import { isIP } from 'node:net';
import { type API, Connection, ResponseError } from '@platformatic/kafka';
import { LogUnavailable, unavailable } from '../failures.js';
import type { ConnectOptions } from '../log.js';
import { type Deadline, within } from './deadline.js';

export interface Address {
  readonly host: string;
  readonly port: number;
}

const CONNECT_TIMEOUT_MS = 3_000;
/** Every call has a deadline of its own, so the library's is never reached. */
const REQUEST_TIMEOUT_MS = 600_000;
/** More than a broker waits for news before it answers a fetch. */
const LATE_MS = 700;
/** The library would queue requests beyond its bound and send them later, perhaps after they were refused. */
const IN_FLIGHT_MAX = 1_000_000;

/**
 * One connection to one broker, opened when it is first needed and again after it was lost. A call that fails or
 * outlives its deadline closes the connection with all that is under way on it, so that nothing is sent after its
 * caller was refused.
 */
export class Broker {
  readonly id: number;
  readonly address: Address;
  readonly #options: ConnectOptions;
  #connection: Connection | undefined;
  #opening: Promise<void> = Promise.resolve();
  readonly #onLate: (() => void) | undefined;
  #isClosed = false;

  /** @param onLate called again and again while a call is not answered */
  constructor(id: number, address: Address, options: ConnectOptions, onLate?: () => void) {
    this.id = id;
    this.address = address;
    this.#options = options;
    this.#onLate = onLate;
  }

  /**
   * Sends one request and answers with the decoded response; the error codes in it are for the caller to judge.
   * Throws LogUnavailable; its `mayHaveBeenAppended` says whether the request may have reached the broker.
   */
  async call<Request extends unknown[], Response>(
    api: API<Request, Response>,
    deadline: Deadline,
    ...request: Request
  ): Promise<Response> {
    const where = `${this.address.host}:${this.address.port}`;
    if (this.#isClosed) {
      throw unavailable(`the connection to ${where} is closed`);
    }
    const connection = this.#connection ?? this.#open();
    const progress = { isSent: false };
    const late = this.#onLate && setInterval(this.#onLate, LATE_MS);
    try {
      const answer = this.#exchange(connection, progress, api, request);
      return await within(deadline, answer, () => new Error('no answer in time'));
    } catch (error) {
      if (this.#connection === connection) {
        this.drop();
      }
      const { message, cause } = error as Error & { cause?: Error };
      const reason = cause === undefined ? message : `${message} (${cause.message})`;
      throw new LogUnavailable(`${where}: ${reason}`, { mayHaveBeenAppended: progress.isSent, cause: error });
    } finally {
      clearInterval(late);
    }
  }

  async #exchange<Request extends unknown[], Response>(
    connection: Connection,
    progress: { isSent: boolean },
    api: API<Request, Response>,
    request: Request,
  ): Promise<Response> {
    await this.#opening;
    if (this.#connection !== connection) {
      throw new Error('the connection was closed');
    }
    progress.isSent = true;
    try {
      return await api.async(connection, ...request);
    } catch (error) {
      if (error instanceof ResponseError) {
        return error['response'];
      }
      throw error;
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
      if (this.#connection === connection) {
        this.#connection = undefined;
      }
    });
    this.#connection = connection;
    this.#opening = Promise.resolve(connection.connect(host, port));
    this.#opening.catch(() => undefined);
    return connection;
  }

  /** Gives up what is under way; the next call opens a new connection. */
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
