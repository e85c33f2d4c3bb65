import { createClient, type MakerbookClient, MakerbookError } from '@makerbook/client';
import type { Company } from './cast-makers.js';
import { Difference } from './compare-views.js';
import type { Chance } from './draw-chance.js';
import type { TrackedOrder } from './judge-orders.js';
import type { Simulation } from './open-simulation.js';

/** Makers at the service's door: they post, post again, and delete. */
export interface Door {
  /** Signs some orders of one maker, and posts them or keeps them for later. @returns what was done */
  postNew(): Promise<Done>;
  /** Posts orders that were kept, which may have been filled or cancelled since. */
  postLate(): Promise<Done>;
  /** Posts what was accepted before: it is never accepted again. */
  postAgain(): Promise<Done>;
  /** Deletes orders, open ones and others. */
  delete(): Promise<Done>;
}

export interface Done {
  readonly action: string;
  readonly text: string;
}

/** Every order of the seed: those that were accepted, in that order, and those that nobody posted yet. */
export interface Orders {
  readonly accepted: TrackedOrder[];
  readonly kept: TrackedOrder[];
  /** The newest block that was compared. */
  comparedBlock: number;
}

/** A 503 is tried again while the projector comes up; where it was ended, the maker comes back later. */
const RETRY = { pauseMs: 100, pauseMsMax: 500, random: () => 0.5 };
const PATIENT = { ...RETRY, attemptsMax: 60 };
const IMPATIENT = { ...RETRY, attemptsMax: 2 };

export function openDoor(simulation: Simulation, company: Company, orders: Orders, chance: Chance): Door {
  const { chain, services, serviceName, protocol } = simulation;
  const addresses = [...company.makers.keys()];
  let count = 0;
  const clientOf = (maker: string): MakerbookClient =>
    createClient({
      baseUrl: services.url('ingress'),
      signer: company.makers.get(maker) ?? '0x',
      chainId: 8217,
      serviceName,
      limitOrderProtocol: protocol,
      retry: services.isRunning('projector') ? PATIENT : IMPATIENT,
    });
  /** What the service does not know by itself it cannot look up in a read model that stands still: 503, nothing is done. */
  const isExcused = (error: unknown) =>
    error instanceof MakerbookError && error.code === 'unavailable' && !services.isRunning('projector');
  const nameOf = (maker: string) => `maker${addresses.indexOf(maker)}`;

  async function sign(maker: string, nonce: bigint): Promise<TrackedOrder> {
    const { timestamp } = chain.head();
    const making = chance.pickAny(company.tokens);
    const taking = chance.pickAny(company.tokens.filter(({ kind }) => kind === 'plain'));
    const lifetime = chance.pickWeighted({ long: 6, medium: 4, grace: 2, over: 1 });
    const seconds = {
      long: () => chance.between(1000, 8000),
      medium: () => chance.between(61, 400),
      grace: () => chance.between(1, 60),
      over: () => -chance.below(30),
    };
    const amount = BigInt(chance.between(1, 80));
    const expiresAt = timestamp + seconds[lifetime]();
    const signed = await clientOf(maker).signOrder({
      making: { token: making?.address ?? '', amount },
      taking: {
        token: taking?.address === making?.address ? `0x${'dd'.repeat(20)}` : (taking?.address ?? ''),
        amount: 1n,
      },
      nonce,
      expiresAt,
      salt: chance.wide(),
    });
    count += 1;
    const label = `#${count} (${nameOf(maker)} sells ${amount} ${making?.label}, nonce ${nonce}, expires ${expiresAt})`;
    return {
      label,
      signed,
      maker,
      token: signed.order.making.token,
      amount,
      nonce,
      expiresAt,
      acceptedAtBlock: undefined,
      comparedBeforeBlock: 0,
      isDeleted: false,
      wasDenied: false,
      wasOpen: false,
      isGone: false,
    };
  }

  async function nonceOf(maker: string): Promise<bigint> {
    const data = `0x70ae92d2${maker.slice(2).padStart(64, '0')}`;
    return BigInt(String(await chain.ask('eth_call', { to: protocol, data }, 'latest')));
  }

  async function place(some: readonly TrackedOrder[], isAgain: boolean): Promise<string> {
    const [first] = some;
    if (first === undefined) return 'nothing to post';
    const { comparedBlock } = orders;
    const { number } = chain.head();
    const signed = some.map((order) => order.signed);
    const labels = some.map(({ label }) => label).join(', ');
    try {
      const answer = await clientOf(first.maker).placeOrders(signed, { duplicateCountsAsStored: !isAgain });
      const echoed = answer.map(({ orderHash, status }) => `${orderHash} ${status}`).join();
      if (echoed !== signed.map(({ orderHash }) => `${orderHash} VALIDATING`).join())
        throw new Difference(`POST of ${labels} was answered with ${echoed}`);
    } catch (error) {
      if (!(error instanceof MakerbookError)) throw error;
      if (isExcused(error)) {
        if (!isAgain) orders.kept.push(...some);
        return `cannot post ${labels}: ${error.code}`;
      }
      const refused = some[error.index ?? 0];
      const isStale = refused !== undefined && (await nonceOf(first.maker)) > refused.nonce;
      const isRight = error.code === 'order_cancelled' ? isStale : error.code === 'duplicate' && isAgain;
      if (!isRight) throw new Difference(`POST of ${labels} was refused: ${error.message} (index ${error.index})`);
      return `posts ${labels}: ${error.code}`;
    }
    if (isAgain) throw new Difference(`${labels} was accepted twice`);
    for (const order of some) {
      order.acceptedAtBlock = number;
      order.comparedBeforeBlock = comparedBlock;
      orders.accepted.push(order);
    }
    return `posts ${labels}`;
  }

  return {
    async postNew() {
      const maker = chance.pickAny(addresses) ?? '';
      const current = await nonceOf(maker);
      const some: TrackedOrder[] = [];
      for (let left = chance.between(1, 4); left > 0; left -= 1) {
        const kind = chance.pickWeighted({ current: 16, ahead: 2, farAhead: 1, behind: 1 });
        const shift = { current: 0n, ahead: 1n, farAhead: 3n, behind: current === 0n ? 0n : -1n }[kind];
        some.push(await sign(maker, current + shift));
      }
      const keeps = chance.oneIn(4);
      if (!keeps) return { action: 'postNew', text: await place(some, false) };
      orders.kept.push(...some);
      return { action: 'keep', text: `keeps ${some.map(({ label }) => label).join(', ')}` };
    },
    async postLate() {
      const [first] = orders.kept;
      if (first === undefined) return { action: 'nothing', text: 'nothing was kept' };
      const some = orders.kept.filter(({ maker }) => maker === first.maker).slice(0, chance.between(1, 3));
      for (const order of some) orders.kept.splice(orders.kept.indexOf(order), 1);
      return { action: 'postLate', text: `late: ${await place(some, false)}` };
    },
    async postAgain() {
      const order = chance.pickAny(orders.accepted);
      const text = await place(order === undefined ? [] : [order], true);
      return { action: 'postAgain', text: `again: ${text}` };
    },
    async delete() {
      const first = chance.pickAny(orders.accepted);
      if (first === undefined) return { action: 'nothing', text: 'nothing to delete' };
      const ofMaker = orders.accepted.filter(({ maker }) => maker === first.maker);
      const some = [...new Set([first, chance.pickAny(ofMaker) ?? first])];
      const asked = some.map(({ signed: { orderHash, order } }) => ({ orderHash, salt: order.salt }));
      const labels = some.map(({ label }) => label).join(', ');
      const answer = await clientOf(first.maker)
        .cancelOrders(asked)
        .catch((error: unknown) => {
          if (isExcused(error)) return undefined;
          throw error;
        });
      if (answer === undefined) return { action: 'delete', text: `cannot delete ${labels}: unavailable` };
      for (const [index, order] of some.entries()) {
        const isCancelled = answer[index]?.status === 'CANCELLED';
        if (isCancelled && order.isGone) throw new Difference(`${order.label} was gone, and DELETE says CANCELLED`);
        if (isCancelled) order.isDeleted = true;
        else order.wasDenied = true;
      }
      const said = some.map(({ label }, index) => `${label} ${answer[index]?.status}`).join(', ');
      return { action: 'delete', text: `deletes ${said}` };
    },
  };
}
