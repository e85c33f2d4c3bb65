import { createClient, type MakerbookClient, MakerbookError } from '@makerbook/client';
import type { Chance } from '@makerbook/parts';
import { Difference } from './compare-views.js';
import type { TrackedOrder } from './judge-orders.js';
import { type Fixture, MAX_AMOUNT, protocolAbi } from './open-fixture.js';
import type { Simulation } from './open-simulation.js';
import type { Contracts } from './read-contracts.js';
import { readList, readStored } from './read-views.js';
import { openSigning } from './sign-orders.js';

/** What makers ask of the service: they post, post again, and delete. */
export interface MakerRequests {
  /** Signs some orders of one maker, and posts them or keeps them for later. */
  postNew(): Promise<Done>;
  /** Posts orders that were kept, which may have been filled or cancelled since. */
  postLate(): Promise<Done>;
  /** Posts what was accepted before: it is never accepted again. */
  postAgain(): Promise<Done>;
  /** Deletes orders, open ones and others. */
  delete(): Promise<Done>;
  /** Signs an order that the next block cancels or fills, in part or in full, and that is posted after it. */
  spoil(): Promise<Done>;
  /** Posts orders that were spoilt. */
  postSpoilt(): Promise<Done>;
}

/** What was done, by its kinds; none where there was nothing to do. */
export interface Done {
  readonly actions: readonly string[];
  readonly text: string;
  /** Left for the next block: whether it was done is known only there. */
  readonly transaction?: string;
}

/** Every order of the seed: those that were accepted, in that order, and those that nobody posted yet. */
export interface Orders {
  readonly accepted: TrackedOrder[];
  readonly kept: TrackedOrder[];
  readonly spoilt: TrackedOrder[];
  /** The newest block that was compared. */
  comparedBlock: number;
}

/**
 * The kinds of requests. `postCancelled` and the two after it: the order was so on the chain when it was posted, and the
 * maker's funds were known.
 */
export const requestActions = [
  ...['postNew', 'keep', 'postLate', 'delete', 'spoil', 'postSpoilt'],
  ...['postCancelled', 'postFilled', 'postPartlyFilled', 'listPlaced'],
  ...['postAgain, duplicate', 'postNew, order_cancelled'],
];

/** A 503 is tried again while the projector comes up; where it was ended, the maker comes back later. */
const RETRY = { pauseMs: 100, pauseMsMax: 500, random: () => 0.5 };
const PATIENT = { ...RETRY, attemptsMax: 60 };
const IMPATIENT = { ...RETRY, attemptsMax: 2 };

export function openRequests(
  simulation: Simulation,
  fixture: Fixture,
  contracts: Contracts,
  orders: Orders,
  chance: Chance,
): MakerRequests {
  const { chain, services, serviceName, protocol, postgres } = simulation;
  const addresses = [...fixture.makers.keys()];
  const sign = openSigning(simulation, fixture, chance);
  const optionsOf = (maker: string, service: 'ingress' | 'query') => ({
    baseUrl: services.url(service),
    signer: fixture.makers.get(maker) ?? '0x',
    chainId: 8217,
    serviceName,
    limitOrderProtocol: protocol,
  });
  const clientOf = async (maker: string, onRetry?: (error: MakerbookError) => void): Promise<MakerbookClient> => {
    await services.ready(['ingress']);
    return createClient({
      ...optionsOf(maker, 'ingress'),
      retry: { ...(services.isRunning('projector') ? PATIENT : IMPATIENT), ...(onRetry && { onRetry }) },
    });
  };
  /**
   * A list that is asked for right after POST has answered 200 holds the orders, or says that it is behind; unless the
   * service has removed one by then, as its history shows.
   */
  async function readOwnWrites(maker: string, some: readonly TrackedOrder[]): Promise<string> {
    await services.ready(['query']);
    const { records, isBehind } = await readList({ ...optionsOf(maker, 'query'), retry: PATIENT });
    if (isBehind) return 'listPlaced, behind';
    const listed = new Set(records.map(({ orderHash }) => orderHash));
    const missing = some.filter(({ signed }) => !listed.has(signed.orderHash));
    if (missing.length === 0) return 'listPlaced';
    const { removals } = await readStored(postgres, [maker]);
    for (const { label, signed } of missing) {
      if (!removals.has(signed.orderHash)) throw new Difference(`POST of ${label} answered 200, and it is not listed`);
    }
    return 'listPlaced, removed already';
  }
  /** Without a projector the read model does not move: where ingress has to wait for it, 503 is right, and nothing is done. */
  const isExcused = (error: unknown) =>
    error instanceof MakerbookError && error.code === 'unavailable' && !services.isRunning('projector');
  /** By the chain's newest block, which may be one that is not known to be made yet. */
  const nonceOf = async (maker: string) => {
    const data = protocolAbi.encodeFunctionData('nonce', [maker]);
    return BigInt(String(await chain.ask('eth_call', { to: protocol, data }, 'latest')));
  };
  const isOpen = (order: TrackedOrder) => order.wasOpen && !order.isGone && !order.isDeleted;

  /** The state on the chain of an order that is about to be posted. */
  async function kindOf(order: TrackedOrder): Promise<string | undefined> {
    const { number } = chain.head();
    const filled = await contracts.filled(order.signed.orderHash, number);
    const isCancelled = await contracts.isCancelled(order.signed.orderHash, number);
    const isKnown = orders.accepted.some((each) => {
      return isOpen(each) && each.maker === order.maker && each.token === order.token;
    });
    if (!isKnown || (filled === 0n && !isCancelled)) return undefined;
    if (isCancelled) return 'postCancelled';
    return filled === order.amount ? 'postFilled' : 'postPartlyFilled';
  }

  async function place(action: string, some: readonly TrackedOrder[], isAgain = false): Promise<Done> {
    const [first] = some;
    if (first === undefined) return { actions: [], text: 'nothing to post' };
    const { comparedBlock } = orders;
    const signed = some.map((order) => order.signed);
    const labels = some.map(({ label }) => label).join(', ');
    const kinds = await Promise.all(some.map(kindOf));
    try {
      const client = await clientOf(first.maker);
      const answer = await client.placeOrders(signed, { duplicateCountsAsStored: !isAgain });
      const echoed = answer.map(({ orderHash, status }) => `${orderHash} ${status}`).join();
      if (echoed !== signed.map(({ orderHash }) => `${orderHash} VALIDATING`).join())
        throw new Difference(`POST of ${labels} was answered with ${echoed}`);
    } catch (error) {
      if (!(error instanceof MakerbookError)) throw error;
      if (isExcused(error)) {
        if (!isAgain) orders.kept.push(...some);
        return { actions: [], text: `${action}: ${labels}: ${error.code}` };
      }
      const refused = some[error.index ?? 0];
      const isStale = refused !== undefined && (await nonceOf(first.maker)) > refused.nonce;
      const isRight = error.code === 'order_cancelled' ? isStale : error.code === 'duplicate' && isAgain;
      if (!isRight) throw new Difference(`POST of ${labels} was refused: ${error.message} (index ${error.index})`);
      return { actions: [`${action}, ${error.code}`], text: `${action}: ${labels}: ${error.code}` };
    }
    if (isAgain) throw new Difference(`${labels} was accepted twice`);
    for (const order of some) {
      order.comparedBeforeBlock = comparedBlock;
      orders.accepted.push(order);
    }
    const listed = chance.oneIn(2) ? [] : [await readOwnWrites(first.maker, some)];
    const known = kinds.filter((kind) => kind !== undefined);
    return { actions: [action, ...known, ...listed], text: `${[action, ...known, ...listed].join()}: ${labels}` };
  }

  /** Some of the orders, all of one maker; they are no longer in the list. */
  function take(list: TrackedOrder[]): TrackedOrder[] {
    const some = list.filter(({ maker }) => maker === list[0]?.maker).slice(0, chance.between(1, 3));
    for (const order of some) list.splice(list.indexOf(order), 1);
    return some;
  }

  return {
    async postNew() {
      const maker = chance.pickAny(addresses) ?? '';
      const current = await nonceOf(maker);
      const some: TrackedOrder[] = [];
      for (let left = chance.between(1, 4); left > 0; left -= 1) {
        const kind = chance.pickWeighted({ current: 16, ahead: 2, farAhead: 1, behind: 1 });
        const shift = { current: 0n, ahead: 1n, farAhead: 3n, behind: current === 0n ? 0n : -1n }[kind];
        some.push(await sign({ maker, nonce: current + shift }));
      }
      if (!chance.oneIn(4)) return place('postNew', some);
      orders.kept.push(...some);
      return { actions: ['keep'], text: `keeps ${some.map(({ label }) => label).join(', ')}` };
    },
    postLate: () => place('postLate', take(orders.kept)),
    async postAgain() {
      const order = chance.pickAny(orders.accepted);
      return place('postAgain', order === undefined ? [] : [order], true);
    },
    async delete() {
      const first = chance.pickAny(orders.accepted);
      if (first === undefined) return { actions: [], text: 'nothing to delete' };
      const ofMaker = orders.accepted.filter(({ maker }) => maker === first.maker);
      const some = [...new Set([first, chance.pickAny(ofMaker) ?? first])];
      const asked = some.map(({ signed: { orderHash, order } }) => ({ orderHash, salt: order.salt }));
      const labels = some.map(({ label }) => label).join(', ');
      let mayHaveHappened = false;
      const client = await clientOf(first.maker, (error) => {
        mayHaveHappened ||= error.mayHaveHappened;
      });
      const answer = await client.cancelOrders(asked).catch((error: unknown) => {
        if (isExcused(error)) return undefined;
        throw error;
      });
      if (answer === undefined) return { actions: [], text: `cannot delete ${labels}: unavailable` };
      for (const [index, order] of some.entries()) {
        const isCancelled = answer[index]?.status === 'CANCELLED';
        if (isCancelled && order.isGone) throw new Difference(`${order.label} was gone, and DELETE says CANCELLED`);
        // A first try may have been cut off after it was done: then the next one finds nothing.
        if (isCancelled || mayHaveHappened) order.isDeleted = true;
        else order.wasDenied = true;
      }
      const said = some.map(({ label }, index) => `${label} ${answer[index]?.status}`).join(', ');
      return { actions: ['delete'], text: `deletes ${said}` };
    },
    async spoil() {
      const known = chance.pickAny(orders.accepted.filter((order) => isOpen(order) && order.wasActive));
      if (known === undefined) return { actions: [], text: 'no order that could be filled' };
      const { maker, token, nonce } = known;
      const order = await sign({ maker, token, nonce, amount: BigInt(chance.between(2, 9)), isLasting: true });
      const how = chance.pick(['cancels', 'fills', 'fills a part of']);
      const part = how === 'fills' ? order.amount : BigInt(chance.between(1, Number(order.amount) - 1));
      const { signed } = order;
      const data =
        how === 'cancels'
          ? protocolAbi.encodeFunctionData('cancelOrder', [signed.order])
          : protocolAbi.encodeFunctionData('fillOrder', [signed.order, signed.signature, part, MAX_AMOUNT]);
      await chain.send({ from: how === 'cancels' ? maker : fixture.taker, to: protocol, data });
      orders.spoilt.push(order);
      return { actions: ['spoil'], text: `${how} ${order.label} before it is posted` };
    },
    postSpoilt: () => place('postSpoilt', take(orders.spoilt)),
  };
}
