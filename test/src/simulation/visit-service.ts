import type { OrdersCancelled } from '@makerbook/contracts-events';
import {
  bytesToHex,
  cancelAllRequestTypes,
  cancelBySaltRequestTypes,
  createOrderHasher,
  createRequestHashers,
  createStructHasher,
  fillCapRequestTypes,
  heartbeatRequestTypes,
  hexToBytes,
  keysRequestTypes,
  type Order,
} from '@makerbook/contracts-evm';
import type { OrderHistory } from '@makerbook/contracts-http';
import { type Address, type Hex, quantity, ZERO_ADDRESS } from '@makerbook/contracts-primitives';
import { type ApiRequest, isRefusal, type Reply } from '@makerbook/http';
import { partitionOf } from '@makerbook/kafka';
import { type Chance, createChance, type Life } from '@makerbook/parts';
import { addressOfKey, signDigest } from '@makerbook/signatures';
import type { ReadRight } from '@makerbook/whitelist';
import {
  type HashOrder,
  type MakersAtWork,
  nameOf,
  PROTOCOL,
  type SignedOrder,
  TOKENS,
  WALLET,
  WALLET_KEY,
} from './chain/act-on-chain.js';
import { FollowedStream } from './follow-stream.js';
import { MAKERS } from './plan-run.js';
import { CHAIN_ID, type Handle, SERVICE_NAME } from './run-processes.js';

/** A request with its answer. */
export interface Visit {
  readonly number: number;
  readonly kind:
    | 'POST'
    | 'DELETE'
    | 'SALTS'
    | 'REPLACE'
    | 'ALL'
    | 'BEAT'
    | 'CAP'
    | 'KEYS'
    | 'GET'
    | 'ACCOUNT'
    | 'ORDER'
    | 'HISTORY'
    | 'STREAM';
  readonly maker: Address;
  /** The right that a read needs if the maker's reading key signs it. */
  readonly right?: ReadRight | undefined;
  readonly hashes: readonly Hex[];
  /** The orders that a replacement cancels. `hashes` are the orders that it places. */
  readonly replaced: readonly Hex[];
  /** How much of each replaced order is filled, by the request, and by the rows when the request was stored. */
  readonly expectedFills: readonly bigint[];
  seenFills: readonly (bigint | undefined)[];
  /** A cancellation by salts is about orders that were accepted until then. */
  readonly untilMs?: number | undefined;
  /** The scope of a cancellation of all orders. */
  readonly scope?: Pick<OrdersCancelled, 'making' | 'untilMs'> | undefined;
  /** A standing instruction: its subject, and when it was signed. */
  readonly instruction?: { readonly subject: string; readonly issuedAtMs: number } | undefined;
  /** Signature of a message about all orders of a maker. Requests with the same one carry the same message. */
  readonly signature?: Hex | undefined;
  /** The moment that an ORDER asks about, a block or a position, and where the maker's partition ended then. */
  readonly asOf?: { readonly at: string; readonly end: bigint } | undefined;
  /** When the service received it, or when it was sent if nobody received it. */
  receivedAtMs: number;
  readonly sentAtMs: number;
  /** Undefined if nothing was answered. */
  answer: Answer | undefined;
}

export interface Answer {
  readonly atMs: number;
  readonly at: readonly bigint[];
  readonly reply: Reply;
}

const domain = { serviceName: SERVICE_NAME, chainId: CHAIN_ID, verifyingContract: PROTOCOL };
const orderHasher = createOrderHasher(domain);
const requestHashers = createRequestHashers(domain);
const hashCancelAll = createStructHasher(domain, cancelAllRequestTypes);
const hashBySalt = createStructHasher(domain, cancelBySaltRequestTypes);
const hashHeartbeat = createStructHasher(domain, heartbeatRequestTypes);
const hashFillCap = createStructHasher(domain, fillCapRequestTypes);
const hashKeys = createStructHasher(domain, keysRequestTypes);
/** A page that takes longer does not come: its process is gone. */
const PAGE_MS_MAX = 20_000;

type Asked = { readonly issuedAt: bigint; readonly salt: Uint8Array };
const NO_KEY = new Uint8Array(32);

const keys = Array.from({ length: MAKERS }, (_, index) => new Uint8Array(32).fill(index + 1));
export const MAKER_ADDRESSES = keys.map(addressOfKey) as [Address, ...Address[]];
/** One key for each maker. It may read for the maker once the maker has named it. */
const readerKeys = keys.map((_, index) => new Uint8Array(32).fill(50 + index));
const readerAddresses = readerKeys.map(addressOfKey);
export const readerOf = (maker: Address): Address => readerAddresses[MAKER_ADDRESSES.indexOf(maker)] ?? ZERO_ADDRESS;
const keyOf = new Map(MAKER_ADDRESSES.map((maker, index) => [maker, index === WALLET ? WALLET_KEY : keys[index]]));

function bodyOf(terms: Parameters<HashOrder>[0], number: number): Order {
  return {
    salt: BigInt(number + 1),
    nonce: terms.nonce,
    expiresAt: BigInt(terms.expiresAt),
    making: { token: terms.token, amount: terms.amount },
    taking: { token: terms.taking, amount: 1n },
    maker: terms.maker,
    permittedTaker: ZERO_ADDRESS,
  };
}

export const hashOrder: HashOrder = (terms, number) => bytesToHex(orderHasher.hashOrder(bodyOf(terms, number)));

export interface Server {
  readonly life: Life;
  readonly handle: Handle;
}

export interface VisitParts {
  readonly makers: MakersAtWork;
  readonly nowMs: () => number;
  /** The end of each partition of the log. */
  readonly ends: () => readonly bigint[];
  readonly note: (line: () => string) => void;
  /** How much of an order is filled according to the rows. Undefined if they do not have it. */
  readonly filledOf: (orderHash: Hex) => bigint | undefined;
  /** A process of the service, if one runs. */
  readonly find: (kind: 'ingress' | 'query', chance: Chance) => Server | undefined;
}

/** A maker's history as far as it was read, page by page. */
export interface ReadHistory {
  readonly entries: OrderHistory['entries'];
  cursor: string | undefined;
  /** The visit whose answer counts, and when it was sent. */
  asked: { readonly number: number; readonly atMs: number } | undefined;
}

/** The makers as clients: their requests and the answers. */
export class Visits {
  readonly all: Visit[] = [];
  readonly #parts: VisitParts;
  /** Orders whose POST was answered with `unavailable`. */
  readonly #unconfirmed: SignedOrder[] = [];
  readonly #signatures = new Map<Hex, Hex>();
  readonly streams = new Map<Address, FollowedStream>();
  readonly histories: ReadonlyMap<Address, ReadHistory> = new Map(
    MAKER_ADDRESSES.map((maker) => [maker, { entries: [], cursor: undefined, asked: undefined }]),
  );

  constructor(parts: VisitParts) {
    this.#parts = parts;
  }

  /** Sends a random request: posts new or earlier orders, cancels orders, or reads. */
  visit(draw: number): void {
    const chance = createChance(draw);
    const { orders } = this.#parts.makers;
    // The draw itself decides, so that the other visits of a kept run stay as they were.
    if (draw % 10 === 3) {
      const maker = chance.pick(MAKER_ADDRESSES);
      const exit = chance.pick(['all', 'beat', 'beat', 'follow', 'follow'] as const);
      if (exit === 'follow') return void this.follow(maker, chance);
      if (exit === 'all') return void this.cancelAll(maker, chance);
      return this.beat(maker, chance);
    }
    if (draw % 20 === 17) return void this.replace(chance);
    if (draw % 15 === 7) this.nameReader(createChance(draw));
    const kind = chance.pickWeighted({ post: 8, again: 3, cancel: 4, list: 4 });
    if (kind === 'list') {
      const maker = chance.pick(MAKER_ADDRESSES);
      if (draw % 5 === 0) void this.readAccount(maker, createChance(draw));
      const own = chance.pickAny(orders.filter((order) => order.maker === maker));
      if (draw % 3 === 1 && own !== undefined) return void this.find(own, chance, draw % 4 < 2 ? draw : undefined);
      return void (draw % 3 === 0 ? this.readHistory(maker, chance) : this.list(maker, chance));
    }
    const some = (order: SignedOrder | undefined) => (order === undefined ? [] : [order]);
    if (kind === 'cancel' && orders.length > 0) {
      const first = chance.pickAny(chance.oneIn(2) ? orders.slice(-3) : orders);
      const other = chance.oneIn(4)
        ? orders.find(({ maker, hash }) => maker === first?.maker && hash !== first.hash)
        : undefined;
      const named = [...some(first), ...some(other)];
      return void (draw % 3 === 0 ? this.cancelSalts(named, chance) : this.cancel(named, chance));
    }
    if (kind === 'again' && this.#unconfirmed.length > 0 && chance.oneIn(2)) {
      return void this.post(some(chance.pickAny(this.#unconfirmed.slice(-3))), chance);
    }
    if (kind === 'again' && orders.length > 0) {
      return void this.post(some(chance.pickAny(chance.oneIn(2) ? orders.slice(-3) : orders)), chance);
    }
    const signed = Array.from({ length: chance.pick([1, 1, 1, 2, 3]) }, () => this.sign(chance));
    if (!chance.oneIn(8)) void this.post(signed, chance);
  }

  sign(chance: Chance): SignedOrder {
    return this.#parts.makers.sign(chance, Math.floor(this.#parts.nowMs() / 1000));
  }

  post(orders: readonly SignedOrder[], chance: Chance): Promise<Visit> {
    return this.#send('POST', orders, { body: this.#placements(orders) }, chance);
  }

  #placements(orders: readonly SignedOrder[]) {
    return orders.map((order) => {
      const number = this.#numberOf(order);
      const { making, taking, ...rest } = bodyOf(order, number);
      const amounts = {
        making: { token: making.token, amount: quantity(making.amount) },
        taking: { token: taking.token, amount: quantity(taking.amount) },
      };
      const quantities = {
        salt: quantity(rest.salt),
        nonce: quantity(rest.nonce),
        expiresAt: quantity(rest.expiresAt),
      };
      return { order: { ...rest, ...quantities, ...amounts }, signature: this.#signatureOf(order.maker, order.hash) };
    });
  }

  cancel(orders: readonly SignedOrder[], chance: Chance): Promise<Visit> {
    const namesExpiry = chance.oneIn(2);
    const body = this.#cancellations(orders, chance).map((item, index) => {
      const expiresAt = quantity(BigInt(orders[index]?.expiresAt ?? 0));
      return { ...item, ...(namesExpiry && { expiresAt }) };
    });
    return this.#send('DELETE', orders, { body }, chance);
  }

  /** Replaces one or two orders of a maker by one. Sometimes sends two such requests at once. */
  replace(chance: Chance): void {
    const placed = this.sign(chance);
    const { orders } = this.#parts.makers;
    const others = orders.filter(({ maker, hash }) => maker === placed.maker && hash !== placed.hash);
    const own = others.slice(-4);
    const filled = others.filter(({ hash }) => this.#parts.filledOf(hash));
    const first = (chance.oneIn(2) ? chance.pickAny(filled) : undefined) ?? chance.pickAny(own);
    if (first === undefined) return void this.post([placed], chance);
    const replaced = chance.oneIn(4) ? [first, ...own.filter((order) => order !== first).slice(-1)] : [first];
    // Not drawn, so that kept runs stay as they were.
    const bySalt = this.all.length % 3 === 0;
    void this.#replaceBy(placed, replaced, bySalt, chance);
    const other = this.sign(chance);
    if (other.maker === placed.maker) void this.#replaceBy(other, replaced, bySalt, chance);
  }

  #replaceBy(placed: SignedOrder, replaced: readonly SignedOrder[], bySalt: boolean, chance: Chance): Promise<Visit> {
    const { filledOf } = this.#parts;
    const expectedFills = replaced.map(({ hash }) => (chance.oneIn(2) ? (filledOf(hash) ?? 0n) : 0n));
    const cancel = this.#cancellations(replaced, chance).map((item, index) => {
      const filled = expectedFills[index] ?? 0n;
      const left = (replaced[index]?.amount ?? 0n) - filled;
      return { ...item, ...(filled > 0n && { remainingMakingAmount: quantity(left) }) };
    });
    const filled = expectedFills.reduce((sum, each) => sum + each, 0n);
    const left = replaced.reduce((sum, { amount }) => sum + amount, 0n) - filled;
    const salted = { ...this.#salted(replaced), ...(filled > 0n && { remainingMakingAmount: quantity(left) }) };
    const body = { cancel: bySalt ? salted : cancel, place: this.#placements([placed]) };
    const hashes = replaced.map(({ hash }) => hash);
    return this.#send('REPLACE', [placed], { body, replaced: hashes, expectedFills }, chance);
  }

  #cancellations(orders: readonly SignedOrder[], chance: Chance) {
    const hasSalts = chance.oneIn(2);
    return orders.map(({ hash: orderHash, ...order }) => {
      const salt: Hex = `0x${(this.#numberOf({ ...order, hash: orderHash }) + 1).toString(16)}`;
      const request = { orderHash: hexToBytes(orderHash), salt: hexToBytes(`0x${salt.slice(2).padStart(64, '0')}`) };
      const digest = requestHashers.hashCancellation(request, 'uint256');
      return { orderHash, signature: this.#signatureOf(order.maker, bytesToHex(digest)), ...(hasSalts && { salt }) };
    });
  }

  /** Each order has a salt of its own here. */
  cancelSalts(orders: readonly SignedOrder[], chance: Chance): Promise<Visit> {
    const body = this.#salted(orders, this.#parts.nowMs() + chance.between(-2_000, 1_000));
    return this.#send('SALTS', orders, { body, untilMs: body.untilMs }, chance);
  }

  #salted(orders: readonly SignedOrder[], untilMs = this.#parts.nowMs() + 1_000) {
    const maker = orders[0]?.maker ?? ZERO_ADDRESS;
    const salts = orders.map((order) => quantity(BigInt(this.#numberOf(order) + 1)));
    const signature = this.#signatureOf(maker, bytesToHex(hashBySalt({ maker, salts, untilMs })));
    return { maker, salts, untilMs, signature };
  }

  /** Cancels all that was accepted up to a time around now, perhaps of one token. */
  cancelAll(maker: Address, chance: Chance): Promise<Visit> {
    const untilMs = this.#parts.nowMs() + chance.between(-3_000, 1_000);
    const [own] = this.#parts.makers.orders.filter((order) => order.maker === maker);
    const making = chance.oneIn(2) ? own?.token : undefined;
    const signed = { maker, making: making ?? ZERO_ADDRESS, taking: ZERO_ADDRESS, untilMs: BigInt(untilMs) };
    const signature = this.#signatureOf(maker, bytesToHex(hashCancelAll(signed)));
    const body = { maker, ...(making && { making }), untilMs, signature };
    const scope = { ...(making && { making }), untilMs };
    return this.#send('ALL', [{ maker } as SignedOrder], { body, scope }, chance);
  }

  /** Sets the switch some seconds ahead, or turns it off. One message may overtake an older one. */
  beat(maker: Address, chance: Chance): void {
    const { nowMs } = this.#parts;
    for (const ageMs of chance.pick([[0], [4_000], [4_000, 0], [4_000, 0]])) {
      const issuedAtMs = nowMs() - ageMs;
      const cancelAt = chance.oneIn(4) ? 0 : Math.ceil(nowMs() / 1000) + chance.between(1, 12);
      const signed = { maker, cancelAt: BigInt(cancelAt), issuedAtMs: BigInt(issuedAtMs) };
      const signature = this.#signatureOf(maker, bytesToHex(hashHeartbeat(signed)));
      const body = { maker, cancelAt, issuedAtMs, signature };
      const instruction = { subject: 'switch', issuedAtMs };
      void this.#send('BEAT', [{ maker } as SignedOrder], { body, instruction }, chance);
    }
  }

  /** Gives a maker's reading key some rights, or takes them away. One message may overtake an older one. */
  nameReader(chance: Chance): void {
    const maker = chance.pick(MAKER_ADDRESSES);
    const some = () => (chance.oneIn(3) ? [] : [readerOf(maker)]);
    for (const ageMs of chance.pick([[0], [0], [4_000, 0]])) {
      const readers = { keys: [], listKeys: some(), streamKeys: some(), historyKeys: some() };
      const terms = { maker, ...readers, issuedAtMs: this.#parts.nowMs() - ageMs };
      const signature = this.#signatureOf(maker, bytesToHex(hashKeys(terms)));
      const instruction = { subject: 'keys', issuedAtMs: terms.issuedAtMs };
      void this.#send('KEYS', [{ maker } as SignedOrder], { body: { ...terms, signature }, instruction }, chance);
    }
  }

  /** Posts some orders of a token, and sets its cap or removes it. Messages may come out of order. */
  cap(maker: Address, chance: Chance): void {
    const token = chance.pick(TOKENS);
    const { makers, nowMs } = this.#parts;
    const sign = () => makers.sign(chance, Math.floor(nowMs() / 1000), { maker, token });
    void this.post([sign(), sign(), sign()], chance);
    for (const ageMs of chance.pick([[0], [4_000], [4_000, 0], [0, 4_000]])) {
      const amount = quantity(BigInt(chance.pick([0, 1, 1, 1, 2, 4])));
      const terms = { token, amount, windowSeconds: chance.pick([2, 5, 10, 15]), issuedAtMs: nowMs() - ageMs };
      const signature = this.#signatureOf(maker, bytesToHex(hashFillCap({ maker, ...terms })));
      const instruction = { subject: token, issuedAtMs: terms.issuedAtMs };
      void this.#send('CAP', [{ maker } as SignedOrder], { body: { maker, ...terms, signature }, instruction }, chance);
    }
  }

  /** Notes the fills of the orders that a request replaces, just before its cancellations are stored. */
  seeFills(requestId: string): void {
    const visit = this.all[Number(requestId.split(' ')[1])];
    if (visit !== undefined) visit.seenFills = visit.replaced.map(this.#parts.filledOf);
  }

  /** @param byReader true if the reading key signs; now and then if not given */
  list(maker: Address, chance: Chance, byReader = this.#isByReader()): Promise<Visit> {
    const right = byReader ? 'list' : undefined;
    const query = this.#signedQuery(maker, requestHashers.hashGetRequest, right);
    return this.#send('GET', [{ maker } as SignedOrder], { query, right }, chance);
  }

  readAccount(maker: Address, chance: Chance): Promise<Visit> {
    const right = this.#isByReader() ? 'list' : undefined;
    const query = this.#signedQuery(maker, requestHashers.hashAccountRequest, right);
    return this.#send('ACCOUNT', [{ maker } as SignedOrder], { query, right }, chance);
  }

  #isByReader(): boolean {
    return this.all.length % 4 === 3;
  }

  /** @param draw draws the moment to ask about; now if not given */
  find(order: SignedOrder, chance: Chance, draw?: number): Promise<Visit> {
    const orderHash = hexToBytes(order.hash);
    const asOf = draw === undefined ? undefined : this.#momentOf(order.maker, draw);
    const right = this.#isByReader() ? 'history' : undefined;
    const hash = (asked: Asked) => requestHashers.hashOrderRequest({ ...asked, orderHash });
    const query = { ...this.#signedQuery(order.maker, hash, right), ...(asOf && { at: asOf.at }) };
    return this.#send('ORDER', [order], { query, asOf, right }, chance);
  }

  #momentOf(maker: Address, draw: number): NonNullable<Visit['asOf']> {
    const ends = this.#parts.ends();
    const partition = partitionOf(maker, ends.length);
    const end = ends[partition] ?? 0n;
    const block = String(Math.floor(draw / 8) % 30);
    return { at: draw % 8 < 4 || end === 0n ? block : `${partition}:${BigInt(draw) % end}`, end };
  }

  /** Asks for the maker's next page. Does nothing while another page is in flight, for some seconds. */
  async readHistory(maker: Address, chance: Chance): Promise<Visit | undefined> {
    const read = this.histories.get(maker);
    const atMs = this.#parts.nowMs();
    if (read === undefined || (read.asked !== undefined && atMs < read.asked.atMs + PAGE_MS_MAX)) return undefined;
    const number = this.all.length;
    read.asked = { number, atMs };
    const query = {
      ...this.#signedQuery(maker, requestHashers.hashHistoryRequest),
      limit: String(chance.pick([1, 2, 5, 100])),
      ...(read.cursor !== undefined && { cursor: read.cursor }),
    };
    const visit = await this.#send('HISTORY', [{ maker } as SignedOrder], { query }, chance);
    if (read.asked?.number !== number) return visit;
    read.asked = undefined;
    if (visit.answer === undefined || isRefusal(visit.answer.reply)) return visit;
    const page: OrderHistory = JSON.parse(String(visit.answer.reply.body));
    read.entries.push(...page.entries);
    read.cursor = page.nextCursor;
    return visit;
  }

  /** Resumes the maker's stream at any process, and ends its earlier connection. */
  async follow(maker: Address, chance: Chance): Promise<Visit> {
    const followed = this.streams.get(maker) ?? new FollowedStream();
    this.streams.set(maker, followed);
    const open = followed.reconnect();
    const query = {
      ...this.#signedQuery(maker, requestHashers.hashStreamRequest),
      ...(followed.lastId !== undefined && { cursor: followed.lastId }),
    };
    const visit = await this.#send('STREAM', [{ maker } as SignedOrder], { query }, chance);
    const reply = visit.answer?.reply;
    if (reply !== undefined && !isRefusal(reply) && open.isOpen()) reply.stream?.(open.response);
    return visit;
  }

  #signedQuery(maker: Address, hash: (asked: Asked) => Uint8Array, right?: ReadRight): Record<string, string> {
    const salt: Hex = `0x${(this.all.length + 1).toString(16).padStart(64, '0')}`;
    const issuedAt = BigInt(Math.floor(this.#parts.nowMs() / 1000));
    const digest = hash({ issuedAt, salt: hexToBytes(salt) });
    return {
      issuedAt: String(issuedAt),
      salt,
      signature: signDigest(digest, (right ? readerKeys[MAKER_ADDRESSES.indexOf(maker)] : keyOf.get(maker)) ?? NO_KEY),
      ...((right !== undefined || maker === MAKER_ADDRESSES[WALLET]) && { maker }),
    };
  }

  #numberOf(order: SignedOrder): number {
    return this.#parts.makers.orders.findIndex(({ hash }) => hash === order.hash);
  }

  #signatureOf(maker: Address, digest: Hex): Hex {
    const known = this.#signatures.get(digest);
    if (known !== undefined) return known;
    const signature = signDigest(hexToBytes(digest), keyOf.get(maker) ?? NO_KEY);
    this.#signatures.set(digest, signature);
    return signature;
  }

  async #send(
    kind: Visit['kind'],
    orders: readonly SignedOrder[],
    {
      body,
      query,
      untilMs,
      scope,
      instruction,
      asOf,
      right,
      replaced = [],
      expectedFills = [],
    }: Pick<Visit, 'untilMs' | 'scope' | 'instruction' | 'asOf' | 'right'> &
      Partial<Pick<Visit, 'replaced' | 'expectedFills'>> & {
        readonly body?: unknown;
        readonly query?: Record<string, string>;
      },
    chance: Chance,
  ): Promise<Visit> {
    const { nowMs, ends, note, find } = this.#parts;
    const [first] = orders;
    const hashes = orders.flatMap(({ hash }) => hash ?? []);
    const maker = first?.maker ?? '0x';
    const number = this.all.length;
    const times = { receivedAtMs: nowMs(), sentAtMs: nowMs() };
    const visit: Visit = {
      number,
      kind,
      maker,
      right,
      hashes,
      replaced,
      expectedFills,
      seenFills: [],
      untilMs,
      scope,
      instruction,
      signature: (body as { readonly signature?: Hex } | undefined)?.signature,
      asOf,
      ...times,
      answer: undefined,
    };
    this.all.push(visit);
    const label = () => `visit ${number}, ${kind} ${orders.map((order) => order.label ?? nameOf(maker)).join(', ')}`;
    const isRead = ['GET', 'ACCOUNT', 'ORDER', 'HISTORY', 'STREAM'].includes(kind);
    const server = find(isRead ? 'query' : 'ingress', chance);
    note(() => (server === undefined ? `${label()}: nobody answers` : label()));
    if (server === undefined) return visit;
    await server.life.delay(chance.below(50));
    visit.receivedAtMs = nowMs();
    const request: ApiRequest = {
      requestId: `visit ${number}`,
      receivedAtMs: nowMs(),
      client: maker,
      charge: async () => undefined,
      params: kind === 'ORDER' ? { orderHash: first?.hash ?? '' } : {},
      query: new URLSearchParams(query),
      headers: {},
      body,
      describe: () => undefined,
    };
    const reply = await server.handle(kind, request);
    note(
      () =>
        `${label()}: ${isRefusal(reply) ? `${reply.code}: ${reply.detail}` : `200 ${kind === 'POST' ? '' : reply.body}`}`,
    );
    if (kind === 'POST' && isRefusal(reply) && reply.code === 'unavailable') this.#unconfirmed.push(...orders);
    visit.answer = { atMs: nowMs(), at: ends(), reply };
    return visit;
  }
}
