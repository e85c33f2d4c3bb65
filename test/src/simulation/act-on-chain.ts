import type { Chance } from '@makerbook/parts';
import type { Chain, Transaction } from './drive-chain.js';
import type { TrackedOrder } from './judge-orders.js';
import { type Fixture, type FixtureToken, MAX_AMOUNT, protocolAbi, tokenAbi } from './open-fixture.js';
import type { Done } from './place-orders.js';

/** How often each action is drawn, among the others. */
const weights = {
  mint: 14,
  transferAway: 8,
  transferBetweenMakers: 8,
  approve: 9,
  approveEverything: 3,
  approveNothing: 2,
  approveAStranger: 2,
  deposit: 4,
  depositByTransfer: 2,
  withdraw: 7,
  fillPart: 10,
  fillAll: 6,
  cancelOrder: 4,
  cancelAllOrders: 1,
  changeFee: 1,
  rebase: 2,
  misbehave: 2,
};

/** What is done on the chain. */
export const chainActions = Object.keys(weights);

/** Leaves one random transaction for the next block. Some revert there, which is as good as any. */
export async function actOnChain(
  chain: Chain,
  protocol: string,
  { makers, tokens, taker }: Fixture,
  orders: readonly TrackedOrder[],
  chance: Chance,
): Promise<Done> {
  const addresses = [...makers.keys()];
  const order = chance.pickAny(orders.filter(({ isGone }) => !isGone));
  // Mostly where an order depends on it.
  const isOfOrder = order !== undefined && !chance.oneIn(3);
  const maker = (isOfOrder ? order.maker : chance.pickAny(addresses)) ?? taker;
  const other = chance.pickAny(addresses) ?? taker;
  const sold = tokens.find(({ address, kind }) => isOfOrder && address === order.token && kind !== 'noContract');
  const token = sold ?? (chance.pickAny(tokens.filter(({ kind }) => kind !== 'noContract')) as FixtureToken);
  const amount = BigInt(chance.between(1, 150));
  const action = chance.pickWeighted(weights);
  const nameOf = (address: string) => `maker${addresses.indexOf(address)}`;
  const of = (kind: FixtureToken['kind']) => tokens.find((each) => each.kind === kind) as FixtureToken;
  const done = async (text: string, transaction: Transaction): Promise<Done> => {
    return { actions: [action], text, transaction: await chain.send(transaction) };
  };
  const call = async (from: string, at: FixtureToken, method: string, args: readonly unknown[], value = 0n) => {
    const words = args.map((arg) => describe(arg, nameOf, addresses)).join(', ');
    const text = `${from === taker ? 'taker' : nameOf(from)} ${at.label}.${method}(${words})`;
    const data = tokenAbi.encodeFunctionData(method, args);
    return done(value > 0n ? `${text} value ${value}` : text, { from, to: at.address, data, value });
  };
  const sellers = orders.filter((each) => !each.isGone && each.token === of('wrapped').address);
  const sellerOfWrapped = chance.pickAny(sellers)?.maker ?? maker;
  const nothing = { actions: [], text: `${action} without an order` };
  switch (action) {
    case 'mint':
      return call(taker, token, 'mint', [maker, amount]);
    case 'transferAway':
      return call(maker, token, 'transfer', [taker, amount / 3n]);
    case 'transferBetweenMakers':
      return call(maker, token, 'transfer', [other, amount / 4n]);
    case 'approve':
      return call(maker, token, 'approve', [protocol, amount * BigInt(chance.between(1, 4))]);
    case 'approveEverything':
      return call(maker, token, 'approve', [protocol, MAX_AMOUNT]);
    case 'approveNothing':
      return call(maker, token, 'approve', [protocol, 0n]);
    case 'approveAStranger':
      return call(maker, token, 'approve', [taker, amount]);
    case 'deposit':
      return call(sellerOfWrapped, of('wrapped'), 'deposit', [], amount);
    case 'depositByTransfer':
      return done(`${nameOf(sellerOfWrapped)} sends ${amount} to wrapped`, {
        from: sellerOfWrapped,
        to: of('wrapped').address,
        value: amount,
      });
    case 'withdraw':
      return call(sellerOfWrapped, of('wrapped'), 'withdraw', [amount / 5n]);
    case 'changeFee':
      return call(taker, of('fee'), 'setFeeBasisPoints', [chance.pick([0, 100, 5000])]);
    case 'rebase':
      return call(taker, of('rebasing'), 'setIndex', [(10n ** 18n * BigInt(chance.between(2, 30))) / 10n]);
    case 'misbehave': {
      const method = chance.pick(['setBalanceAnswer', 'setAllowanceAnswer', 'setTransfersReturnFalse'] as const);
      // Honest, reverts, too short, oversized, burns all gas.
      const argument = method === 'setTransfersReturnFalse' ? chance.oneIn(2) : chance.pick([0, 0, 1, 2, 3, 5]);
      return call(taker, of('illBehaved'), method, [argument]);
    }
    case 'fillPart':
    case 'fillAll': {
      if (order === undefined) return nothing;
      const { signed, label } = order;
      const part = action === 'fillAll' ? order.amount : BigInt(chance.between(1, Number(order.amount)));
      const data = protocolAbi.encodeFunctionData('fillOrder', [signed.order, signed.signature, part, MAX_AMOUNT]);
      return done(`taker fills ${part} of ${label}`, { from: taker, to: protocol, data });
    }
    case 'cancelOrder': {
      if (order === undefined) return nothing;
      const data = protocolAbi.encodeFunctionData('cancelOrder', [order.signed.order]);
      return done(`${nameOf(order.maker)} cancels ${order.label} on the chain`, {
        from: order.maker,
        to: protocol,
        data,
      });
    }
    case 'cancelAllOrders':
      return done(`${nameOf(maker)} cancels all on the chain`, {
        from: maker,
        to: protocol,
        data: protocolAbi.encodeFunctionData('cancelAllOrders'),
      });
  }
}

function describe(argument: unknown, nameOf: (address: string) => string, makers: readonly string[]): string {
  if (argument === MAX_AMOUNT) return 'everything';
  if (typeof argument !== 'string') return String(argument);
  return makers.includes(argument) ? nameOf(argument) : argument.slice(0, 8);
}
