import { parseArgs } from 'node:util';
import type { Info, OrderHistory } from '@makerbook/contracts-http';
import { paths } from '@makerbook/contracts-http/paths';
import type { Hex } from '@makerbook/contracts-primitives';
import { callService, readObject } from './call-service.js';
import type { OrderToCancel } from './cancel-orders.js';
import { createClient, type MakerbookClient } from './create-client.js';
import { MakerbookError } from './errors.js';
import type { SignedOrder } from './sign-requests.js';

const USAGE = `makerbook <command>
  sign --making TOKEN:AMOUNT --taking TOKEN:AMOUNT [--expires SECONDS] [--nonce N]
                            prints a signed order, good for an hour unless told otherwise
  post (the same options)   signs an order and posts it
  list                      prints the open orders
  watch                     prints the open orders, then each change, until Ctrl-C
  history                   prints every fill and every change
  cancel HASH…              cancels open orders
  cancel-all [--making TOKEN] [--taking TOKEN]
  cap --making TOKEN:AMOUNT --window SECONDS
                            withholds the orders of the token where more is filled within that time; 0 removes the cap
  MAKER_KEY is the maker's private key, MAKERBOOK_URL the service (http://127.0.0.1:8080 if not given). Amounts are in the
  token's smallest unit. Each line that is printed is JSON.`;

const HOUR_SECONDS = 3_600;
const TIMEOUT_MS = 10_000;
const options = {
  making: { type: 'string' },
  taking: { type: 'string' },
  expires: { type: 'string' },
  nonce: { type: 'string' },
  window: { type: 'string' },
  help: { type: 'boolean' },
} as const;
type Values = Partial<Record<'making' | 'taking' | 'expires' | 'nonce' | 'window', string>> & {
  readonly hashes: readonly string[];
};

/** What runs a command, and what it prints on. */
export interface Terminal {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly print: (line: string) => void;
  readonly complain: (line: string) => void;
}

/** Wrong words on the command line: the message names them. */
class UsageError extends Error {}

/** Runs one command of `makerbook`. @returns the exit code: 1 where the service refused, 2 where the words are wrong */
export async function runCommand(
  words: readonly string[],
  { environment, print, complain }: Terminal,
): Promise<number> {
  try {
    const { values, positionals } = parseArgs({ args: [...words], options, allowPositionals: true });
    const [name = '', ...hashes] = positionals;
    if (values.help === true) {
      print(USAGE);
      return 0;
    }
    const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
    if (command === undefined) throw new UsageError(name === '' ? 'which command?' : `unknown command \`${name}\``);
    if (hashes.length > 0 && name !== 'cancel') throw new UsageError(`${name} takes no \`${hashes[0]}\``);
    const client = await openClient(environment);
    await command(client, { ...values, hashes }, (value) => print(JSON.stringify(value)));
    return 0;
  } catch (error) {
    if (error instanceof MakerbookError) {
      const { code, detail, index, errors } = error;
      complain(JSON.stringify({ code, detail, index, errors }));
      return 1;
    }
    const isUsage = error instanceof UsageError || (error as { code?: string }).code?.startsWith('ERR_PARSE_ARGS');
    if (isUsage !== true) throw error;
    complain(`${(error as Error).message}\n${USAGE}`);
    return 2;
  }
}

/** The client of the key, with the domain as the service names it. */
async function openClient(environment: Terminal['environment']): Promise<MakerbookClient> {
  const { MAKER_KEY: signer, MAKERBOOK_URL = 'http://127.0.0.1:8080' } = environment;
  const baseUrl = MAKERBOOK_URL.replace(/\/+$/, '');
  if (signer === undefined) throw new UsageError('MAKER_KEY is missing');
  const calling = { baseUrl, timeoutMs: TIMEOUT_MS, fetch };
  const { text } = await callService({ method: 'GET', path: paths.info }, calling);
  const { serviceName, domains } = readObject<Info>(text);
  const { chainId, verifyingContract: limitOrderProtocol } = domains.order;
  const retry = { attemptsMax: 5 };
  return createClient({ baseUrl, signer: signer as Hex, serviceName, chainId, limitOrderProtocol, retry });
}

type Command = (client: MakerbookClient, values: Values, print: (value: unknown) => void) => Promise<void>;

const commands: Readonly<Record<string, Command>> = {
  sign: async (client, values, print) => print(await sign(client, values)),
  async post(client, values, print) {
    const orders = [await sign(client, values)];
    for (const record of await client.placeOrders(orders, { duplicateCountsAsStored: true })) print(record);
  },
  async list(client, _, print) {
    for (const record of (await client.listOrders()).records) print(record);
  },
  async watch(client, _, print) {
    for await (const event of client.streamOrders()) print(event);
  },
  async history(client, _, print) {
    let page: OrderHistory | undefined;
    while (page?.hasMore !== false) {
      page = await client.readHistory({ cursor: page?.nextCursor });
      for (const entry of page.entries) print(entry);
    }
  },
  cancel: (client, { hashes }, print) => cancel(client, hashes, print),
  async 'cancel-all'(client, { making, taking }, print) {
    print(await client.cancelAll({ ...(making && { making }), ...(taking && { taking }) }));
  },
  async cap(client, { making, window = '' }, print) {
    const cap = { ...amountOf('making', making), windowSeconds: wholeOf('window', window) };
    await client.setFillCap(cap);
    print({ ...cap, amount: String(cap.amount) });
  },
};

function sign(client: MakerbookClient, { making, taking, expires, nonce = '0' }: Values): Promise<SignedOrder> {
  const nowSeconds = Math.floor(Date.now() / 1000);
  const expiresAt = expires === undefined ? nowSeconds + HOUR_SECONDS : wholeOf('expires', expires);
  const amounts = { making: amountOf('making', making), taking: amountOf('taking', taking) };
  return client.signOrder({ ...amounts, expiresAt, nonce: BigInt(wholeOf('nonce', nonce)) });
}

function amountOf(name: string, text = '') {
  const [, token, amount] = /^(0x[0-9a-fA-F]{40}):([0-9]+)$/.exec(text) ?? [];
  if (token === undefined || amount === undefined)
    throw new UsageError(`--${name} must be TOKEN:AMOUNT, not \`${text}\``);
  return { token, amount: BigInt(amount) };
}

function wholeOf(name: string, text: string): number {
  if (!/^[0-9]{1,15}$/.test(text)) throw new UsageError(`--${name} must be a whole number, not \`${text}\``);
  return Number(text);
}

/** The list has the salts by which cancellations are signed, unless it lacks an order for now. */
async function cancel(
  client: MakerbookClient,
  hashes: readonly string[],
  print: (value: unknown) => void,
): Promise<void> {
  if (hashes.length === 0) throw new UsageError('which orders?');
  const { records } = await client.listOrders();
  const open = new Map(records.map(({ orderHash, order }) => [orderHash as string, order.salt as string]));
  const lower = hashes.map((hash) => hash.toLowerCase());
  const known: OrderToCancel[] = [];
  for (const orderHash of lower) {
    const salt = open.get(orderHash) ?? (await findSalt(client, orderHash));
    if (salt !== undefined) known.push({ orderHash, salt });
  }
  const cancelled = known.length === 0 ? [] : await client.cancelOrders(known);
  const statuses = new Map(cancelled.map(({ orderHash, status }) => [orderHash as string, status]));
  for (const orderHash of lower) print({ orderHash, status: statuses.get(orderHash) ?? 'NOT_FOUND' });
}

/** Undefined where the service knows no such order of the maker. */
async function findSalt(client: MakerbookClient, orderHash: string): Promise<string | undefined> {
  try {
    return (await client.findOrder(orderHash)).order.salt;
  } catch (error) {
    if (error instanceof MakerbookError && ['not_found', 'gone'].includes(error.code)) return undefined;
    throw error;
  }
}
