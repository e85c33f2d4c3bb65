import { z } from 'zod';
import { CANCEL_KEYS_MAX, sentReadKeys } from './exits.js';
import { budget } from './info.js';
import { cappedUntil, sentAddress, sentQuantity } from './orders.js';

const count = z.int().nonnegative();
const issuedAtMs = count.describe('When it was signed, in milliseconds since 1970; 0 before the first one');
const counted = (what: string, limit: string) => z.object({ count: count.describe(what), max: count.describe(limit) });
const left = (what: string) =>
  budget
    .extend({ left: count.nullable().describe('What is left of it now; null if that is not known') })
    .describe(what);

/** The answer to GET …/account: the state of a maker. */
export const account = z
  .object({
    maker: sentAddress.describe('The maker'),
    position: z
      .string()
      .regex(/^[0-9]+:[0-9]+$/)
      .describe(
        '`<partition>:<offset>` in the log: every fact of the maker before it counts here, and none from it on. Budgets are as of now',
      ),
    block: z
      .object({ number: count, timestamp: count })
      .nullable()
      .describe(
        'The newest block. Its time decides the switch and the windows of caps, in quarantine too; null before the first',
      ),
    admission: z
      .enum(['ADMITTED', 'SUSPENDED', 'REMOVED'])
      .describe('Whether the maker may place orders: only one that is `ADMITTED` may'),
    isCancelOnly: z.boolean().describe('True while the operator keeps the service from taking orders from anybody'),
    isQuarantined: z
      .boolean()
      .describe('True while the service cannot process the maker: nothing after `position` counts'),
    nonce: sentQuantity
      .nullable()
      .describe("The maker's nonce on the chain, as the service has read it; null before the first reading"),
    openOrders: counted('Open orders, as the list has them', 'How many there may be'),
    rememberedHashes: counted('Hashes that are remembered, of open orders and of others', 'How many there may be'),
    orderBudget: left('The budget of orders'),
    cancelBudget: left('The budget of cancellations'),
    listBudget: left('The budget of signed GETs, this one included'),
    cancelKeys: z
      .object({
        keys: z.array(sentAddress).describe(`Who may cancel for the maker; at most ${CANCEL_KEYS_MAX}`),
        ...sentReadKeys,
        issuedAtMs,
      })
      .describe('The keys that count (POST …/cancel-keys)'),
    switch: z
      .object({
        cancelAt: count.describe('When it cancels all orders, in Unix seconds; 0: it is off'),
        hasFired: z.boolean().describe('True once a block has reached `cancelAt`'),
        key: sentAddress.nullable().describe('The cancel key that has set it; null: the maker'),
        issuedAtMs,
      })
      .describe("The dead-man's switch that counts (POST …/heartbeat)"),
    caps: z
      .array(
        z.object({
          token: sentAddress.describe('The token that the orders sell'),
          amount: sentQuantity.describe('What may be filled of it within a window'),
          windowSeconds: count.describe('How long a window lasts'),
          filled: sentQuantity.describe('What is filled of it in the current window'),
          windowEndsAt: count
            .nullable()
            .describe('When that window ends, in Unix seconds; null: the next fill begins one'),
          cappedUntil,
          issuedAtMs,
        }),
      )
      .describe('The caps that count (POST …/fill-cap)'),
  })
  .meta({ id: 'Account' });

export type Account = z.infer<typeof account>;
