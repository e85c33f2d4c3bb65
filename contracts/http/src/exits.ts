import { z } from 'zod';
import { addressInput, quantityInput, sentAddress, sentQuantity, signatureInput } from './orders.js';
import { secondsOrOff, time, timeOrOff } from './times.js';

/** The most keys that may cancel for one maker. The same bound holds for each kind of read keys. */
export const CANCEL_KEYS_MAX = 5;

const maker = addressInput.describe('The maker of the orders');
const byMakerOrKey = 'by the maker, or by a key that may cancel for it';
const issuedAtMs = time(
  'milliseconds',
  'When it was signed, in milliseconds since 1970; at most `clockSkewSeconds` ahead. The newest one counts',
);
const making = 'The token that the orders sell; without it: any';
const taking = 'The token that the orders want; without it: any';
const untilMs = 'Orders that were accepted by then are cancelled, in milliseconds since 1970';
const cancelAt =
  'Orders that were accepted by then are cancelled once a block has this time: Unix seconds. 0 turns the switch off';
const cap = {
  token: 'The token that the orders sell',
  amount: 'How much of it may be filled within a window, in hex; 0 removes the cap',
  windowSeconds: 'How long a window lasts, at most a week; 0 removes the cap',
};
const WEEK_SECONDS = 604_800;
/** The reads that each kind of key allows. */
const readers = {
  listKeys: 'list its orders (GET) and read its account (GET …/account)',
  streamKeys: 'stream them (GET …/stream)',
  historyKeys: 'read their history (GET …/history and GET …/{orderHash})',
} as const;
const may = (what: string) =>
  `The addresses that may ${what} for the maker, by the parameter \`maker\`; at most ${CANCEL_KEYS_MAX}`;
const keys = `The addresses that may cancel for the maker, and no others; at most ${CANCEL_KEYS_MAX}, and no maker`;

/** The body of POST …/cancel-all. */
export const cancelAllInput = z
  .strictObject({
    maker,
    making: addressInput.optional().describe(making),
    taking: addressInput.optional().describe(taking),
    untilMs: time('milliseconds', untilMs),
    signature: signatureInput.describe(
      `Over \`CancelAllRequest\`, in the domain of orders, ${byMakerOrKey}. Sign the zero address for a token that you leave out`,
    ),
  })
  .meta({ id: 'CancelAllInput' });

/** The body of POST …/heartbeat. */
export const heartbeatInput = z
  .strictObject({
    maker,
    cancelAt: timeOrOff('seconds', cancelAt),
    issuedAtMs,
    signature: signatureInput.describe(`Over \`HeartbeatRequest\`, in the domain of orders, ${byMakerOrKey}`),
  })
  .meta({ id: 'HeartbeatInput' });

const readKeysInput = z.array(addressInput).max(CANCEL_KEYS_MAX).optional();

/** The body of POST …/cancel-keys. */
export const cancelKeysInput = z
  .strictObject({
    maker,
    keys: z.array(addressInput).max(CANCEL_KEYS_MAX).describe(keys),
    listKeys: readKeysInput.describe(may(readers.listKeys)),
    streamKeys: readKeysInput.describe(may(readers.streamKeys)),
    historyKeys: readKeysInput.describe(may(readers.historyKeys)),
    issuedAtMs,
    signature: signatureInput.describe(
      'Over `CancelKeysRequest`, or over `KeysRequest` if the body has a list of keys that may read, in the domain of orders, by the maker. Sign an empty list for one that you leave out',
    ),
  })
  .meta({ id: 'CancelKeysInput' });

/** The body of POST …/fill-cap. */
export const fillCapInput = z
  .strictObject({
    maker,
    token: addressInput.describe(cap.token),
    amount: quantityInput.describe(cap.amount),
    windowSeconds: secondsOrOff(WEEK_SECONDS, cap.windowSeconds),
    issuedAtMs,
    signature: signatureInput.describe('Over `FillCapRequest`, in the domain of orders, by the maker'),
  })
  .meta({ id: 'FillCapInput' });

const sentMaker = sentAddress.describe('The maker');

/** The answer to POST …/cancel-all: which orders it cancels. */
export const cancelledAll = z
  .object({
    maker: sentMaker,
    making: sentAddress.optional().describe(making),
    taking: sentAddress.optional().describe(taking),
    untilMs: z.int().nonnegative().describe(untilMs),
  })
  .meta({ id: 'CancelledAll' });

/** The answer to an instruction: its fields, and the instruction in force from now on. */
const taken = <Fields extends z.ZodRawShape>(id: string, fields: Fields) => {
  const instruction = { ...fields, issuedAtMs };
  const counts = z
    .object(instruction)
    .nullable()
    .describe('What counts from now on; null if the service does not know it now');
  return z.object({ maker: sentMaker, ...instruction, counts }).meta({ id });
};

/** The answer to POST …/heartbeat. */
export const heartbeatAnswer = taken('Heartbeat', { cancelAt: z.int().nonnegative().describe(cancelAt) });

/** The keys that may read, if the message names some. */
export const sentReadKeys = {
  listKeys: z.array(sentAddress).optional().describe(may(readers.listKeys)),
  streamKeys: z.array(sentAddress).optional().describe(may(readers.streamKeys)),
  historyKeys: z.array(sentAddress).optional().describe(may(readers.historyKeys)),
};

/** The answer to POST …/cancel-keys. */
export const cancelKeysAnswer = taken('CancelKeys', { keys: z.array(sentAddress).describe(keys), ...sentReadKeys });

/** The answer to POST …/fill-cap. */
export const fillCapAnswer = taken('FillCap', {
  token: sentAddress.describe(cap.token),
  amount: sentQuantity.describe(cap.amount),
  windowSeconds: z.int().nonnegative().describe(cap.windowSeconds),
});

export type CancelledAll = z.infer<typeof cancelledAll>;
export type HeartbeatAnswer = z.infer<typeof heartbeatAnswer>;
export type CancelKeysAnswer = z.infer<typeof cancelKeysAnswer>;
export type FillCapAnswer = z.infer<typeof fillCapAnswer>;
