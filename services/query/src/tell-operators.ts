import { topicNames } from '@makerbook/contracts-events';
import { type Hex, quantity, unlessAway } from '@makerbook/contracts-primitives';
import { isCapOn, noExits } from '@makerbook/domain';
import { isRefusal, type Ops, okJson, type Reply } from '@makerbook/http';
import type { Postgres } from '@makerbook/postgres';
import { cancelBudgetOf, type Makers } from '@makerbook/whitelist';
import { rowsAreAway } from './answer-signed.js';
import type { QuerySettings } from './env.js';
import { describeOrder } from './find-order.js';
import { type OrderSources, readOrderFrom } from './read-order.js';
import { findMaker, findSalted } from './store/find-maker.js';
import { SALTED_MAX } from './store/read-histories.js';
import type { ListState } from './store/read-lists.js';
import type { MakerAccount } from './store/read-maker.js';

const PATHS = /^\/(?:orders\/(0x[0-9a-f]{64})|makers\/(0x[0-9a-f]{40})(?::(0x[0-9a-f]{1,64}))?)$/;

export interface ToldParts extends Pick<OrderSources, 'log'> {
  readonly postgres: Pick<Postgres, 'query'>;
  readonly rows: OrderSources['rows'] & {
    readonly readListState: (maker: Hex) => Promise<ListState>;
    readonly readMaker: (maker: Hex) => Promise<MakerAccount | null>;
  };
  readonly makers: Pick<Makers, 'admissionOf' | 'limitsOf' | 'nonceOf'>;
}

/**
 * Answers operators at the ops port, unsigned.
 * - `/orders/{orderHash}`: what the order's maker gets, without the signature.
 * - `/makers/{maker}`: its limits, its own or the service's, and its standing instructions.
 * - `/makers/{maker}:{salt}`: the hashes of the maker's orders with the salt that the history has, oldest first.
 */
export function tellOperators(settings: QuerySettings, { postgres, rows, log, makers }: ToldParts): Ops['tell'] {
  const topic = topicNames(settings.TOPIC_PREFIX).makerEvents;
  // Operators do not wait for the maker's writes.
  const watch = { awaitSettled: async (_: Hex, state: ListState) => state };
  const readOrder = readOrderFrom({ watch, rows, log, topic }, settings.PARTITIONS);

  async function tellOrder(orderHash: Hex): Promise<Reply> {
    const maker = await unlessAway(findMaker(postgres, orderHash));
    if (maker === undefined) return rowsAreAway;
    if (maker === null) return { code: 'not_found', detail: `no history of an order ${orderHash} is kept` };
    const state = await unlessAway(rows.readListState(maker));
    const order = await readOrder({ maker, state, nowSeconds: 0 }, orderHash);
    if (isRefusal(order)) return order;
    const { signature: _, ...report } = describeOrder(order, { routingGraceSeconds: settings.ROUTING_GRACE_SECONDS });
    return okJson(JSON.stringify(report));
  }

  async function tellMaker(maker: Hex): Promise<Reply> {
    const row = await unlessAway(rows.readMaker(maker));
    if (row === undefined) return rowsAreAway;
    const [nonce, limits] = [makers.nonceOf(maker), makers.limitsOf(maker)];
    const cancels = cancelBudgetOf(settings, limits);
    const { cancelAt, switchKey, cancelKeys, readKeys, caps } = row?.exits ?? noExits;
    const report = {
      admission: makers.admissionOf(maker),
      quarantine: row?.quarantine ?? null,
      openOrders: row?.openOrders ?? 0,
      openOrdersMax: settings.MAX_OPEN_ORDERS_PER_MAKER,
      ordersPerSecond: settings.ORDER_BUDGET_PER_SECOND,
      ordersBurst: settings.ORDER_BUDGET_BURST,
      ...limits,
      cancellationsPerSecond: cancels.ratePerSecond,
      cancellationsBurst: cancels.burst,
      listsPerSecond: settings.LIST_BUDGET_PER_SECOND,
      listsBurst: settings.LIST_BUDGET_BURST,
      ownLimits: Object.keys(limits),
      nonce: nonce === undefined ? null : String(nonce),
      cancelKeys,
      ...readKeys,
      switch: { cancelAt, key: switchKey },
      caps: caps.filter(isCapOn).map(({ issuedAtMs: _, countsFrom: __, ...cap }) => cap),
    };
    return okJson(JSON.stringify(report));
  }

  async function tellSalted(maker: Hex, salt: Hex): Promise<Reply> {
    const asked = { maker, salt: quantity(BigInt(salt)), ordersMax: SALTED_MAX };
    const hashes = await unlessAway(findSalted(postgres, asked));
    return hashes === undefined ? rowsAreAway : okJson(JSON.stringify(hashes));
  }

  return (path) => {
    const [, order, maker, salt] = PATHS.exec(path) ?? [];
    if (order !== undefined) return tellOrder(order as Hex);
    if (salt !== undefined) return tellSalted(maker as Hex, salt as Hex);
    return maker === undefined ? undefined : tellMaker(maker as Hex);
  };
}
