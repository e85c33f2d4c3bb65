import type { RequestHashers } from '@makerbook/contracts-evm';
import type { Account } from '@makerbook/contracts-http';
import { type Address, quantity, unlessAway } from '@makerbook/contracts-primitives';
import { type Budget, cappedUntil, type Exits, isCapOn, type LogClock, spend, type Tokens } from '@makerbook/domain';
import { type ApiRequest, isRefusal, okJson, type Reply, unavailable } from '@makerbook/http';
import { cancelBudgetOf, type Makers, orderBudgetOf } from '@makerbook/whitelist';
import { type Asker, answerSigned, lagHeader, rowsAreAway, type SignedParts } from './answer-signed.js';
import type { WriteWatch } from './await-writes.js';
import type { QuerySettings } from './env.js';
import { parseAccountRequest } from './parse-requests.js';
import { lagOf } from './read-list.js';
import type { MakerAccount } from './store/read-maker.js';

export interface TellAccountParts extends SignedParts {
  readonly hashers: Pick<RequestHashers, 'hashAccountRequest'>;
  readonly settings: QuerySettings;
  readonly makers: Pick<Makers, 'isCancelOnly'>;
  readonly watch: WriteWatch;
  readonly readMaker: (maker: Address) => Promise<MakerAccount | null>;
}

/** Answers GET …/account. Checks the shape, then the signed request, then reads what the rows know about the maker. */
export async function tellAccount(request: ApiRequest, parts: TellAccountParts): Promise<Reply> {
  const asked = parseAccountRequest(request.query, parts.hashers);
  if (isRefusal(asked)) return asked;
  return answerSigned(request, asked, parts, async ({ maker, state: begun, listsLeft }) => {
    const state = begun && (await parts.watch.awaitSettled(maker, begun));
    const found = state && (await unlessAway(parts.readMaker(maker)));
    if (state === undefined || found === undefined) return rowsAreAway;
    // The feed has a new maker a moment before the rows do.
    if (found === null || found.admission === 'UNKNOWN') return makerIsMissing;
    const { admission } = found;
    const account: Account = { maker, ...describeAccount(found, { ...parts, listsLeft }), admission };
    return okJson(JSON.stringify(account), {
      'Cache-Control': 'private, no-store',
      ...lagHeader(lagOf(state, found)),
    });
  });
}

const makerIsMissing = unavailable('the store of orders does not have the maker now; try again');

/** Describes an account, except for the maker and its admission. */
function describeAccount(
  found: MakerAccount,
  { settings, makers, listsLeft }: Pick<TellAccountParts, 'settings' | 'makers'> & Pick<Asker, 'listsLeft'>,
): Omit<Account, 'maker' | 'admission'> {
  const { partition, nextOffset, clock, limits, exits, nonce, budgets, nowMs } = found;
  const { block, seconds } = clock;
  const leftIn = (budget: Budget, tokens: Tokens) => ({
    perSecond: budget.ratePerSecond,
    burst: budget.burst,
    left: leftOf(tokens, budget, nowMs),
  });
  return {
    position: `${partition}:${nextOffset}`,
    block: block < 0 ? null : { number: block, timestamp: seconds },
    isCancelOnly: makers.isCancelOnly(),
    isQuarantined: found.quarantine !== null,
    nonce: nonce === null ? null : quantity(nonce),
    openOrders: { count: found.openOrders, max: limits.openOrdersMax ?? settings.MAX_OPEN_ORDERS_PER_MAKER },
    rememberedHashes: { count: found.remembered, max: settings.REMEMBERED_HASHES_PER_MAKER_MAX },
    orderBudget: leftIn(orderBudgetOf(settings, limits), budgets.orders),
    cancelBudget: leftIn(cancelBudgetOf(settings, limits), budgets.cancels),
    listBudget: {
      perSecond: settings.LIST_BUDGET_PER_SECOND,
      burst: settings.LIST_BUDGET_BURST,
      left: listsLeft ?? null,
    },
    ...describeExits(exits, clock),
  };
}

/** Counts whole tokens only. */
function leftOf(tokens: Tokens, budget: Budget, nowMs: number): number {
  return Math.floor(Math.max(0, spend(tokens, budget, 0, nowMs).left));
}

/** The standing instructions of a maker at the time of a block. */
function describeExits(exits: Exits, clock: LogClock): Pick<Account, 'cancelKeys' | 'switch' | 'caps'> {
  const { cancelKeys: keys, readKeys, keysIssuedAtMs, cancelAt, switchKey: key, switchIssuedAtMs, caps } = exits;
  return {
    cancelKeys: { keys: [...keys], ...readKeys, issuedAtMs: keysIssuedAtMs },
    switch: { cancelAt, hasFired: cancelAt > 0 && cancelAt <= clock.seconds, key, issuedAtMs: switchIssuedAtMs },
    caps: caps.filter(isCapOn).map(({ token, amount, windowSeconds, filled, untilSeconds, issuedAtMs }) => {
      const isOpen = clock.seconds < untilSeconds;
      const until = cappedUntil(caps, token, clock);
      return {
        token,
        amount,
        windowSeconds,
        filled: isOpen ? filled : '0x0',
        windowEndsAt: isOpen ? untilSeconds : null,
        ...(until > 0 && { cappedUntil: until }),
        issuedAtMs,
      };
    }),
  };
}
