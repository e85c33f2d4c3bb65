import {
  allowance,
  type BlockHeader,
  balanceOf,
  cancelledOf,
  filledOf,
  nonceOf,
  PUT_OFF,
  RpcUnavailable,
  type StateCall,
  type StateReader,
  type StateValue,
} from '@makerbook/chain';
import type { BlockRef, MakerObserved, ObservedFunds, ObservedOrder } from '@makerbook/contracts-events';
import { type Address, quantity } from '@makerbook/contracts-primitives';
import type { Observed } from '../publish/publish-observed.js';
import type { MakerToRead } from '../watch/match-logs.js';
import type { TakingToken } from '../watch/watched-maker.js';

/** An order takes about 130 bytes, funds 200, a fill 400. With as many pairs as orders a record stays under 900 kB. */
const ORDERS_PER_RECORD_MAX = 2000;
const FILLS_PER_RECORD_MAX = 500;

/** The parts that read a maker's state on the chain. */
export interface MakerReader {
  readonly state: StateReader;
  readonly protocol: Address;
  /** Called for each value of a token that cannot be read. Such a value counts as zero. */
  readonly onUnreadable: (token: Address, what: 'balance' | 'allowance', block: BlockRef) => void;
}

/**
 * Reads the requested values of these makers at exactly this block, all at once. Gives one record for each maker, or
 * several if its orders or fills do not fit into one. Each of those has the nonce and the funds too.
 * @throws RpcUnavailable or RpcRefused
 */
export async function readMakers(
  reader: MakerReader,
  makers: Iterable<MakerToRead>,
  header: BlockHeader,
): Promise<Observed[]> {
  const parts = [...makers].flatMap(partsOf);
  const unproven = new Set(parts.flatMap(({ taking }) => [...taking.values()]));
  await readCodes(
    reader,
    [...unproven].filter(({ hasCode }) => hasCode === undefined),
    header,
  );
  const calls = parts.flatMap((part) => callsOf(part, reader.protocol));
  const values = (calls.length === 0 ? [] : await reader.state.read(header.hash, calls)).values();
  const block = blockRefOf(header);
  return parts.map((part) => ({ fact: observe(part, reader, values, block), trace: part.trace }));
}

/** Finds out whether the tokens have code. @throws RpcUnavailable or RpcRefused */
export async function readCodes(
  { state }: MakerReader,
  tokens: readonly TakingToken[],
  { hash }: BlockHeader,
): Promise<void> {
  const addresses = tokens.map(({ address }) => address);
  const contracts = addresses.length === 0 ? new Set() : await state.findContracts(hash, addresses);
  for (const token of tokens) token.hasCode = contracts.has(token.address);
}

/** The block as facts name it. */
export function blockRefOf({ number, hash, timestamp }: BlockHeader): BlockRef {
  return { number, hash, timestamp };
}

function partsOf(toRead: MakerToRead): MakerToRead[] {
  const orders = [...toRead.orders];
  const fills = [...toRead.fills];
  const parts: MakerToRead[] = [];
  do {
    const some = {
      orders: new Set(orders.splice(0, ORDERS_PER_RECORD_MAX)),
      fills: fills.splice(0, FILLS_PER_RECORD_MAX),
    };
    parts.push({ ...toRead, ...some });
  } while (orders.length + fills.length > 0);
  return parts;
}

/** The calls, in the order in which `observe` takes their values. */
function callsOf({ maker, nonce, tokens, ownTokens, orders }: MakerToRead, protocol: Address): StateCall[] {
  return [
    ...(nonce ? [nonceOf(protocol, maker)] : []),
    ...[...tokens].flatMap((token) => {
      const payer = ownTokens.has(token) ? maker : undefined;
      return [balanceOf(token, maker), allowance(token, maker, protocol)].map((call) => ({ ...call, payer }));
    }),
    ...[...orders].flatMap((orderHash) => [filledOf(protocol, orderHash), cancelledOf(protocol, orderHash)]),
  ];
}

function observe(
  { maker, cause, nonce, tokens, orders, wallets, taking, signaturesUnread, fills }: MakerToRead,
  { protocol, onUnreadable }: MakerReader,
  values: Iterator<StateValue>,
  block: BlockRef,
): MakerObserved {
  const take = (): StateValue => values.next().value;
  const takeOfProtocol = (): bigint => {
    const value = take();
    if (typeof value !== 'bigint') throw new RpcUnavailable(`the LimitOrderProtocol at ${protocol} cannot be read`);
    return value;
  };
  const fundsOf = (token: Address): ObservedFunds => {
    const [balance, allowed] = [take(), take()];
    if (balance === PUT_OFF || allowed === PUT_OFF) return { token, balance: '0x0', allowance: '0x0', unread: true };
    if (balance === undefined) onUnreadable(token, 'balance', block);
    if (allowed === undefined) onUnreadable(token, 'allowance', block);
    return { token, balance: quantity(balance ?? 0n), allowance: quantity(allowed ?? 0n) };
  };
  const nonceNow = nonce ? quantity(takeOfProtocol()) : undefined;
  const funds = [...tokens].map(fundsOf);
  const ordersNow = [...orders].map((orderHash): ObservedOrder => {
    const noCode = taking.get(orderHash)?.hasCode === false;
    return {
      orderHash,
      filled: quantity(takeOfProtocol()),
      cancelled: takeOfProtocol() !== 0n,
      ...((noCode || wallets.get(orderHash) === false) && { refused: true }),
      ...(noCode && { noCode: true }),
    };
  });
  return {
    type: 'MakerObserved',
    maker,
    block,
    cause,
    funds,
    orders: ordersNow,
    ...(nonceNow === undefined ? {} : { nonce: nonceNow }),
    ...(signaturesUnread && { signaturesUnread }),
    ...(fills.length === 0 ? {} : { fills }),
  };
}
