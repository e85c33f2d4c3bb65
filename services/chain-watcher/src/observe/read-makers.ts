import {
  allowance,
  type BlockHeader,
  balanceOf,
  cancelledOf,
  filledOf,
  isValidSignature,
  nonceOf,
  RpcUnavailable,
  SIGNATURE_ACCEPTED,
  type StateCall,
  type StateReader,
} from '@makerbook/chain';
import type { BlockRef, MakerObserved, ObservedFunds, ObservedOrder } from '@makerbook/contracts-events';
import { type Address, type Hex, quantity } from '@makerbook/contracts-primitives';
import type { Observed } from '../publish/publish-observed.js';
import type { MakerToRead } from '../watch/match-logs.js';

/** The parts that read a maker's state on the chain. */
export interface MakerReader {
  readonly state: StateReader;
  readonly protocol: Address;
  /** Called for each value of a token that cannot be read, and counts as zero. */
  readonly onUnreadable: (token: Address, what: 'balance' | 'allowance', block: BlockRef) => void;
}

/**
 * Reads everything of these makers that is to be read, at exactly this block, all in one go. Gives one record for each
 * maker, or several where its orders or fills would not fit: then each has the nonce and the funds too.
 * @throws RpcUnavailable or RpcRefused
 */
export async function readMakers(
  reader: MakerReader,
  makers: Iterable<MakerToRead>,
  header: BlockHeader,
): Promise<Observed[]> {
  const parts = [...makers].flatMap(partsOf);
  const calls = parts.flatMap((part) => callsOf(part, reader.protocol));
  const values = (calls.length === 0 ? [] : await reader.state.read(header.hash, calls)).values();
  const block = blockRefOf(header);
  return parts.map((part) => ({ fact: observe(part, reader, values, block), trace: part.trace }));
}

/** The block as facts name it. */
export function blockRefOf({ number, hash, timestamp }: BlockHeader): BlockRef {
  return { number, hash, timestamp };
}

/** An order takes some 130 bytes, funds 200, a fill 400: with as many pairs a record has under 900 kB. */
const ORDERS_PER_RECORD_MAX = 2000;
const FILLS_PER_RECORD_MAX = 500;

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
function callsOf({ maker, nonce, tokens, orders, signatures }: MakerToRead, protocol: Address): StateCall[] {
  const wallet = (orderHash: Hex) => {
    const signature = signatures.get(orderHash);
    return signature === undefined ? [] : [isValidSignature(maker, orderHash, signature)];
  };
  return [
    ...(nonce ? [nonceOf(protocol, maker)] : []),
    ...[...tokens].flatMap((token) => [balanceOf(token, maker), allowance(token, maker, protocol)]),
    ...[...orders].flatMap((orderHash) => [
      filledOf(protocol, orderHash),
      cancelledOf(protocol, orderHash),
      ...wallet(orderHash),
    ]),
  ];
}

function observe(
  { maker, cause, nonce, tokens, orders, signatures, fills }: MakerToRead,
  { protocol, onUnreadable }: MakerReader,
  values: Iterator<bigint | undefined>,
  block: BlockRef,
): MakerObserved {
  const take = (): bigint | undefined => values.next().value;
  const takeOfProtocol = (): bigint => {
    const value = take();
    if (value === undefined) throw new RpcUnavailable(`the LimitOrderProtocol at ${protocol} cannot be read`);
    return value;
  };
  const takeOfToken = (token: Address, what: 'balance' | 'allowance') => {
    const value = take();
    if (value === undefined) onUnreadable(token, what, block);
    return quantity(value ?? 0n);
  };
  const nonceNow = nonce ? quantity(takeOfProtocol()) : undefined;
  const funds = [...tokens].map(
    (token): ObservedFunds => ({
      token,
      balance: takeOfToken(token, 'balance'),
      allowance: takeOfToken(token, 'allowance'),
    }),
  );
  const ordersNow = [...orders].map(
    (orderHash): ObservedOrder => ({
      orderHash,
      filled: quantity(takeOfProtocol()),
      cancelled: takeOfProtocol() !== 0n,
      ...(signatures.has(orderHash) && take() !== SIGNATURE_ACCEPTED && { refused: true }),
    }),
  );
  return {
    type: 'MakerObserved',
    maker,
    block,
    cause,
    funds,
    orders: ordersNow,
    ...(nonceNow === undefined ? {} : { nonce: nonceNow }),
    ...(fills.length === 0 ? {} : { fills }),
  };
}
