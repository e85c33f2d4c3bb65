import { z } from 'zod';
import { sentAddress } from './orders.js';

const count = z.int().nonnegative();
const unixSeconds = z.int().nonnegative().meta({ description: 'Unix seconds' });

/** A budget that grows by `perSecond` up to `burst`. */
export const budget = z.object({
  perSecond: z.int().positive().describe('How many are added each second'),
  burst: z.int().positive().describe('How many it holds when it is full'),
});

const chainId = z.int().positive().describe('The chain id: 8217 on the main network');

/** An EIP-712 domain as wallets and libraries take it. */
const domain = z.object({
  name: z.string().describe('`serviceName` and `Limit Order Protocol`'),
  version: z.string().describe('`v0`'),
  chainId,
  verifyingContract: sentAddress.describe('The LimitOrderProtocol contract'),
});

const domains = z
  .object({
    order: domain.meta({ description: 'The domain of `Order`, without a salt' }),
    cancellation: domain.meta({
      description:
        "The domain of `OrderCancellationRequest`. Add `salt`: the order's own, or the query parameter `salt`. Its type is `uint256`, or `bytes32` if a wallet supports no other",
    }),
    list: domain.meta({
      description:
        'The domain of `GetLimitOrdersRequest`. Add `salt` of the type `bytes32`: 32 random bytes, the same as the query parameter `salt`',
    }),
  })
  .describe('The EIP-712 domains, ready to sign with');

const limits = z
  .object({
    ordersPerPost: count.meta({ description: 'Orders in one POST' }),
    openOrdersPerMaker: count.meta({
      description: "A maker's open orders; an operator can give a maker another limit",
    }),
    rememberedHashesPerMaker: count.meta({
      description: "A maker's order hashes that are remembered, open or not, until a day after they expire",
    }),
    cancelsPerDelete: count.meta({ description: 'Order hashes in one DELETE, and in one POST of cancellations' }),
    cancelWaitSeconds: count.meta({ description: 'How long a cancelling request may wait by `Prefer: wait`' }),
    orderBudget: budget.meta({ description: "A maker's orders" }),
    cancelBudget: budget.meta({ description: "A maker's cancellations" }),
    listBudget: budget.meta({ description: "A maker's signed GETs" }),
    clientRequests: z
      .object({
        windowSeconds: count.describe('Length of the window'),
        place: count.describe('POSTs of orders and of replacements'),
        cancel: count.describe('DELETEs, and POSTs of cancellations, cancel-all, heartbeat, cancel-keys and fill-cap'),
        list: count.describe('All GETs'),
        patch: count.describe('PATCHes'),
      })
      .meta({
        description:
          'Requests of one client address in one window, at each instance. Each 8 KiB of a request count as one more',
      }),
    requestTtlSeconds: count.meta({ description: 'How old the `issuedAt` of a list request may be' }),
    clockSkewSeconds: count.meta({
      description: 'How far `issuedAt` and `issuedAtMs` may be ahead of the clock of the service',
    }),
    bodyBytesMax: count.meta({ description: 'Bytes of the body of one request' }),
    headerBytesMax: count.meta({ description: 'Request line and headers together' }),
    gracePeriodSeconds: count.meta({
      description: 'How long before it expires an order leaves the feed of the router',
    }),
  })
  .describe('As they are configured');

/** The answer to GET …/info: what a maker needs to sign and call, as this service is configured. */
export const info = z
  .object({
    serviceName: z.string().describe('The first word of the name of the signing domains'),
    chainId,
    contracts: z
      .object({
        limitOrderProtocol: sentAddress.meta({ description: 'Approve it for what your orders sell' }),
        navigator: sentAddress.meta({
          description: 'The contract that quotes call; the zero address if none is set',
        }),
        orderFiller: sentAddress.meta({
          description: 'The contract that fills quotes of the book; the zero address if none is set',
        }),
      })
      .describe('Addresses on the chain'),
    tokens: z
      .array(
        z.object({
          address: sentAddress,
          symbol: z.string().describe('Its symbol'),
          decimals: count.describe('How many decimal places its amounts have'),
        }),
      )
      .describe('The tokens that the operator has named. Orders can have others, too'),
    domains,
    receiptSigners: z.array(sentAddress).meta({
      description:
        'The keys that sign receipts, or have signed them: keep them with your receipts. Empty if the service gives none',
    }),
    limits,
    serverTime: unixSeconds,
    block: z
      .object({
        number: count.describe('Its number'),
        hash: z.string().optional().describe('Its hash, if it is known'),
        timestamp: unixSeconds,
      })
      .nullable()
      .meta({
        description:
          'The newest block that orders were judged by; null before the first, and while the database is down',
      }),
  })
  .meta({ id: 'Info' });

export type Info = z.infer<typeof info>;
