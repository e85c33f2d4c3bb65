import { describe, expect, test } from '@jest/globals';
import { concat, Interface, keccak256, recoverAddress, TypedDataEncoder, verifyTypedData, Wallet } from 'ethers';
import { EXAMPLE_MAKER_KEY, EXAMPLE_QUOTE_SIGNER_KEY, exampleDomain, examples } from './examples.js';

const { serviceName, chainId, limitOrderProtocol, navigator } = exampleDomain;
const maker = new Wallet(EXAMPLE_MAKER_KEY).address;
const domain = {
  name: `${serviceName} Limit Order Protocol`,
  version: 'v0',
  chainId,
  verifyingContract: limitOrderProtocol,
};
const uint256s = (...names: string[]) => names.map((name) => ({ name, type: 'uint256' }));
const addresses = (...names: string[]) => names.map((name) => ({ name, type: 'address' }));

describe('an example is signed as section 5 of the interface has it', () => {
  const orderTypes = {
    Order: [
      ...uint256s('salt', 'nonce', 'expiresAt'),
      { name: 'making', type: 'TokenAmount' },
      { name: 'taking', type: 'TokenAmount' },
      ...addresses('maker', 'permittedTaker'),
    ],
    TokenAmount: [...addresses('token'), ...uint256s('amount')],
  };

  test.each([...examples.placed, ...examples.listed])('order $orderHash', ({ order, orderHash, signature }) => {
    expect(TypedDataEncoder.hash(domain, orderTypes, order)).toBe(orderHash);
    expect(verifyTypedData(domain, orderTypes, order, signature)).toBe(maker);
    expect(order.maker).toBe(maker.toLowerCase());
  });

  test('the placed orders are the posted ones', () => {
    expect(examples.placements).toEqual(examples.placed.map(({ order, signature }) => ({ order, signature })));
  });

  test('list request', () => {
    const { issuedAt, salt, signature } = examples.listQuery;
    const types = { GetLimitOrdersRequest: uint256s('issuedAt') };
    expect(verifyTypedData({ ...domain, salt }, types, { issuedAt }, signature)).toBe(maker);
  });

  test('request for the history', () => {
    const { issuedAt, salt, signature } = examples.historyQuery;
    const types = { GetLimitOrderHistoryRequest: uint256s('issuedAt') };
    expect(verifyTypedData({ ...domain, salt }, types, { issuedAt }, signature)).toBe(maker);
  });

  test('request for one order', () => {
    const { issuedAt, salt, signature } = examples.orderQuery;
    const types = { GetLimitOrderRequest: [{ name: 'orderHash', type: 'bytes32' }, ...uint256s('issuedAt')] };
    const message = { orderHash: examples.reported.orderHash, issuedAt };
    expect(verifyTypedData({ ...domain, salt }, types, message, signature)).toBe(maker);
  });

  test.each(examples.cancellations)("cancellation of $orderHash, with the order's salt as uint256", (cancellation) => {
    const { orderHash, signature } = cancellation;
    const salt = examples.placed.find((placed) => placed.orderHash === orderHash)?.order.salt;
    const EIP712Domain = [
      { name: 'name', type: 'string' },
      { name: 'version', type: 'string' },
      ...uint256s('chainId'),
      ...addresses('verifyingContract'),
      ...uint256s('salt'),
    ];
    const separator = TypedDataEncoder.hashStruct('EIP712Domain', { EIP712Domain }, { ...domain, salt });
    const types = { OrderCancellationRequest: [{ name: 'orderHash', type: 'bytes32' }] };
    const message = TypedDataEncoder.hashStruct('OrderCancellationRequest', types, { orderHash });
    expect(recoverAddress(keccak256(concat(['0x1901', separator, message])), signature)).toBe(maker);
  });

  test('the query of DELETE has the same hashes and signatures as the body', () => {
    const { orderHashes, signatures } = examples.cancelQuery;
    expect(orderHashes.map((orderHash, index) => ({ orderHash, signature: signatures[index] }))).toEqual(
      examples.cancellations,
    );
  });
});

describe('an example of a quote', () => {
  const swap = new Interface([
    'function swapQuoteV1((uint256 quoteId,address tokenIn,uint256 amountIn,address tokenOut,address recipient,uint256 deadline) quote,bytes route,uint256[] minOutput,bytes signature)',
  ]);
  const read = (data: string) => {
    const [quote, route, minOutput, signature] = swap.decodeFunctionData('swapQuoteV1', data).toArray();
    const types = {
      QuoteV1: [
        ...uint256s('quoteId'),
        ...addresses('tokenIn'),
        ...uint256s('amountIn'),
        ...addresses('tokenOut', 'recipient'),
        ...uint256s('deadline'),
        { name: 'route', type: 'bytes' },
        { name: 'minOutput', type: 'uint256[]' },
      ],
    };
    const signed = { ...quote.toObject(), route, minOutput: minOutput.toArray() };
    const quoteDomain = { ...domain, name: `${serviceName} Navigator`, verifyingContract: navigator };
    return { minOutput: signed.minOutput, signer: verifyTypedData(quoteDomain, types, signed, signature) };
  };

  test('has the minimum that was asked for, and a signature of the quote signer before and after', () => {
    const signer = new Wallet(EXAMPLE_QUOTE_SIGNER_KEY).address;
    expect(read(examples.quotePatch.data)).toEqual({ minOutput: [1000n], signer });
    expect(read(examples.patchedQuote)).toEqual({ minOutput: [BigInt(examples.quotePatch.minOutput.amount)], signer });
  });
});
