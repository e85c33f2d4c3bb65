import type { Info, OrderHistory } from '@makerbook/contracts-http';
import { readBytes, readHex, readUint256, readWhole } from '@makerbook/contracts-primitives';
import { runNetwork } from '../bad-network/run-network.js';
import type { MakerbookClient } from '../create-client.js';
import type { ListFilter } from '../read-orders.js';
import type { SignedOrder } from '../take-orders.js';
import { cancelNamed, findSalts, notFound } from './find-orders.js';
import { nameInFailure } from './name-order.js';
import {
  type OptionName,
  readAmount,
  readCap,
  readKeys,
  readKinds,
  readLeft,
  readMoment,
  readOrders,
  readSalts,
  readSeconds,
  readTokens,
  type Words,
  WrongWords,
} from './read-words.js';

/** The service that a command asks. */
export interface Service {
  readonly client: MakerbookClient;
  readonly readInfo: () => Promise<Info>;
  readonly baseUrl: string;
  readonly fetch: typeof fetch;
  /** Whether the client has the maker's key. */
  readonly hasKey: boolean;
}

/** Yields the lines to print, or resolves to a single one. */
type Run = (service: Service) => AsyncIterable<unknown> | Promise<unknown>;

/** One command: it reads its words before anything is sent. */
export interface Command {
  /** The words it takes, and what it does. */
  readonly usage: readonly [words: string, does: string];
  readonly options?: readonly OptionName[];
  /** Whether it takes words that are no options. */
  readonly takesMore?: boolean;
  /** Whether it can do without the maker's key, or signs nothing at all. */
  readonly key?: 'optional' | 'unused';
  /** @throws WrongWords, WrongValue */
  read(words: Words): Run;
}

const HOUR = '1h';
const SEED = { unit: 'a seed', min: 0, max: 2 ** 31 };
const PORT = { unit: 'a port', min: 1, max: 65_535 };
const terms: readonly OptionName[] = ['making', 'taking', 'expires', 'nonce', 'salt'];
const TERMS = '--making TOKEN:AMOUNT --taking TOKEN:AMOUNT [--expires 1h] [--nonce 0] [--salt SALT]';

export const commands: Readonly<Record<string, Command>> = {
  info: {
    usage: ['info', 'prints contracts, signing domains and limits of the service'],
    key: 'unused',
    read: () => (service) => service.readInfo(),
  },
  list: {
    usage: [
      'list [--salt SALT] [--making TOKEN] [--taking TOKEN] [--status ACTIVE,INACTIVE]',
      'prints the open orders, or those that match all options',
    ],
    options: ['salt', 'making', 'taking', 'status'],
    read({ values }) {
      const { salt } = values;
      const status = readKinds('--status must be some of VALIDATING,ACTIVE,INACTIVE', values.status);
      const only = {
        ...(salt !== undefined && { orderSalt: readUint256('--salt', salt) }),
        ...readTokens(values),
        ...(status !== undefined && { status: status as NonNullable<ListFilter['status']> }),
      };
      return async function* ({ client }) {
        yield* (await client.listOrders(only)).records;
      };
    },
  },
  account: {
    usage: ['account', 'prints limits, budgets, and the keys, switch and caps that count'],
    read() {
      return ({ client }) => client.readAccount();
    },
  },
  order: {
    usage: ['order HASH [--at BLOCK|POSITION]', 'prints what became of an order'],
    options: ['at'],
    takesMore: true,
    read({ values: { at }, rest: [hash, ...more] }) {
      if (hash === undefined || more.length > 0) throw new WrongWords('order takes one hash');
      const orderHash = readHex('the hash', hash, 32);
      if (at !== undefined && !/^[0-9]{1,15}(:[0-9]{1,18})?$/.test(at)) {
        throw new WrongWords('--at must be a block, or <partition>:<offset>');
      }
      return ({ client }) => client.findOrder(orderHash, at === undefined ? {} : { at });
    },
  },
  sign: {
    usage: [`sign ${TERMS}`, 'prints a signed order, and sends nothing but a request for `info`'],
    options: terms,
    read(words) {
      const sign = readTerms(words);
      return ({ client }) => sign(client);
    },
  },
  place: {
    usage: [`place ${TERMS}`, 'signs an order, and places it'],
    options: terms,
    read(words) {
      const sign = readTerms(words);
      return async function* ({ client }) {
        const order = await sign(client);
        yield* await nameInFailure(order, client.placeOrders([order], { duplicateCountsAsStored: true }));
      };
    },
  },
  replace: {
    usage: [
      `replace HASH… ${TERMS} [--remaining AMOUNT]`,
      'cancels orders (without hashes: all with the salt) and places one instead, all or nothing; only if nothing of them is filled, or --remaining is left',
    ],
    options: [...terms, 'remaining'],
    takesMore: true,
    read(words) {
      const [salts, sign, left] = [readSalts(words), readTerms(words), readLeft(words)];
      const gone = salts === undefined ? readOrders(words) : [];
      return async ({ client }) => {
        const replace = async (named: Parameters<MakerbookClient['replaceOrders']>[0]) => {
          const order = await sign(client);
          return nameInFailure(order, client.replaceOrders(named, [order], { duplicateCountsAsStored: true }));
        };
        if (salts !== undefined) return replace({ salts, ...left });
        const { known, unknown } = await findSalts(client, gone);
        if (unknown.length > 0) throw notFound(unknown);
        return replace(known.map((order) => ({ ...order, ...left })));
      };
    },
  },
  cancel: {
    usage: [
      'cancel HASH[:SALT]… | --salt SALT',
      'cancels orders, or all with a salt, open or in flight; a cancel key can do it with their salts',
    ],
    options: ['salt'],
    takesMore: true,
    read(words) {
      const salts = readSalts(words);
      if (words.values.salt !== undefined && salts === undefined) {
        throw new WrongWords('cancel takes hashes, or --salt alone');
      }
      if (salts !== undefined) {
        return async function* ({ client }) {
          yield* await client.cancelOrders({ salts });
        };
      }
      const orders = readOrders(words);
      return ({ client }) => cancelNamed(client, orders);
    },
  },
  'cancel-all': {
    usage: ['cancel-all [--making TOKEN] [--taking TOKEN]', 'cancels all orders, or those of a token or a pair'],
    options: ['making', 'taking'],
    read({ values }) {
      const scope = readTokens(values);
      return ({ client }) => client.cancelAll(scope);
    },
  },
  heartbeat: {
    usage: [
      'heartbeat 30s | off',
      'cancels all orders after that time, unless another heartbeat comes first; `off` ends that',
    ],
    takesMore: true,
    read({ rest: [time, ...more] }) {
      if (time === undefined || more.length > 0) throw new WrongWords('heartbeat takes one length of time, or `off`');
      const seconds = time === 'off' ? undefined : readSeconds('the length of time', time);
      return async ({ client }) => {
        const nowSeconds = Math.floor((await client.serverTimeMs()) / 1000);
        return client.sendHeartbeat(seconds === undefined ? 0 : nowSeconds + seconds);
      };
    },
  },
  keys: {
    usage: [
      'keys ADDRESS… | none [--list ADDRESS,…] [--stream ADDRESS,…] [--history ADDRESS,…]',
      'names the addresses that may cancel for the maker, and those that may read, and no others',
    ],
    options: ['list', 'stream', 'history'],
    takesMore: true,
    read({ rest, values: { list, stream, history } }) {
      if (rest.length === 0) throw new WrongWords('give addresses, or `none` to revoke all');
      const isNone = rest.length === 1 && rest[0] === 'none';
      const keys = isNone ? [] : readKeys('address', rest);
      const named = {
        listKeys: readKeys('--list, address', list?.split(',')),
        streamKeys: readKeys('--stream, address', stream?.split(',')),
        historyKeys: readKeys('--history, address', history?.split(',')),
      };
      const readers = [list, stream, history].every((text) => text === undefined) ? undefined : named;
      return ({ client }) => client.nameCancelKeys(keys, readers);
    },
  },
  cap: {
    usage: [
      'cap --making TOKEN:AMOUNT --window 60s',
      'withholds orders if more is filled within that time; an amount of 0 removes the cap',
    ],
    options: ['making', 'window'],
    read(words) {
      const cap = readCap(words);
      return ({ client }) => client.setFillCap(cap);
    },
  },
  history: {
    usage: [
      'history [--happened FILLED,REMOVED] [--salt SALT] [--from 24h] [--to TIME] [--cursor CURSOR]',
      'prints every fill and every change, and then the cursor of what comes next',
    ],
    options: ['happened', 'salt', 'from', 'to', 'cursor'],
    read: readHistory,
  },
  stream: {
    usage: ['stream [--cursor ID]', 'prints the open orders, then each change, until Ctrl-C'],
    options: ['cursor'],
    read({ values: { cursor } }) {
      return ({ client }) => client.streamOrders(cursor === undefined ? {} : { lastEventId: cursor });
    },
  },
  'patch-quote': {
    usage: ['patch-quote --data HEX --min-output AMOUNT', 'prints the data of a quote with another minimum output'],
    options: ['data', 'min-output'],
    key: 'unused',
    read({ values }) {
      const data = readBytes('--data', values.data);
      const minOutput = readUint256('--min-output', values['min-output']);
      return ({ client }) => client.patchQuote({ data, minOutput });
    },
  },
  'bad-network': {
    usage: [
      'bad-network [--seed 1] [--port 8090] [--for 10m]',
      'forwards requests from that port, and loses, cuts, delays and repeats them; at the end judges the bot that sent them',
    ],
    options: ['seed', 'port', 'for'],
    key: 'optional',
    read({ values }) {
      const seed = readWhole('--seed', values.seed ?? '1', SEED);
      const port = readWhole('--port', values.port ?? '8090', PORT);
      const seconds = readSeconds('--for', values.for ?? '10m', 24);
      return async function* (service) {
        yield* runNetwork({ ...service, info: await service.readInfo(), seed, port, seconds });
      };
    },
  },
};

/** Reads the terms of an order. Signs nothing that the service must refuse. */
function readTerms(words: Words): (client: MakerbookClient) => Promise<SignedOrder> {
  const { expires = HOUR, nonce = '0', salt } = words.values;
  const [making, taking] = [readAmount('making', words), readAmount('taking', words)];
  if (making.amount === 0n || taking.amount === 0n) throw new WrongWords('the amounts of an order must be above zero');
  if (making.token === taking.token) throw new WrongWords('--making and --taking must name two different tokens');
  const expiry = readMoment('--expires', expires, 1);
  const named = salt === undefined ? {} : { salt: readUint256('--salt', salt) };
  const order = { making, taking, nonce: readUint256('--nonce', nonce), ...named };
  return async (client) => {
    const nowMs = await client.serverTimeMs();
    const expiresAt = Math.floor(expiry(nowMs) / 1000);
    if (expiresAt * 1000 <= nowMs) throw new WrongWords('--expires is in the past');
    return client.signOrder({ ...order, expiresAt });
  };
}

function readHistory({ values: { salt, from, to, cursor: begin, ...values } }: Words): Run {
  const happened = readKinds('--happened must be kinds such as FILLED,REMOVED', values.happened);
  const orderSalt = salt === undefined ? undefined : readUint256('--salt', salt);
  const fromAt = from === undefined ? undefined : readMoment('--from', from, -1);
  const toAt = to === undefined ? undefined : readMoment('--to', to, -1);
  return async function* ({ client }) {
    const nowMs = await client.serverTimeMs();
    const asked = {
      ...(happened !== undefined && { happened: happened as never }),
      ...(orderSalt !== undefined && { orderSalt }),
      ...(fromAt !== undefined && { fromMs: fromAt(nowMs) }),
      ...(toAt !== undefined && { toMs: toAt(nowMs) }),
    };
    let page: OrderHistory | undefined;
    while (page?.hasMore !== false) {
      page = await client.readHistory({ ...asked, cursor: page?.nextCursor ?? begin });
      yield* page.entries;
    }
    yield { nextCursor: page.nextCursor };
  };
}
