import { describe, expect, test } from '@jest/globals';
import { Interface, verifyTypedData, Wallet } from 'ethers';
import { EXAMPLE_QUOTE_SIGNER_KEY, exampleDomain, examples } from './examples.js';
import { cancellationData, makeVectors, orderData, sign } from './testing/make-vectors.js';

const vectors = makeVectors();

describe('an example is signed as the vectors are', () => {
  test.each([...examples.placed, ...examples.listed])('order $orderHash', ({ order, orderHash, signature }) => {
    expect(sign(orderData(order))).toMatchObject({ digest: orderHash, signature });
    expect(order.maker).toBe(vectors.keys.maker.address);
  });

  test('the placed orders are the posted ones', () => {
    expect(examples.placements).toEqual(examples.placed.map(({ order, signature }) => ({ order, signature })));
  });

  test.each([
    ['list request', examples.listQuery, vectors.lists],
    ['request for the account', examples.accountQuery, vectors.accountRequests],
    ['request for the history', examples.historyQuery, vectors.historyRequests],
    ['request for a stream', examples.streamQuery, vectors.streamRequests],
    [
      'request for one order',
      { ...examples.orderQuery, orderHash: examples.reported.orderHash },
      vectors.orderRequests,
    ],
    ['cancellation of all', examples.cancelAll, vectors.cancelAlls],
    ['heartbeat', examples.heartbeat, vectors.heartbeats],
    ['naming of keys', examples.cancelKeys, vectors.cancelKeys],
    ['cap on fills', examples.fillCap, vectors.fillCaps],
  ])('%s', (_name, example, [vector]) => {
    expect(vector?.request).toEqual(example);
  });

  test.each(examples.cancellations)("cancellation of $orderHash, with the order's salt as uint256", (cancellation) => {
    const { orderHash, signature } = cancellation;
    const salt = examples.placed.find((placed) => placed.orderHash === orderHash)?.order.salt;
    expect(sign(cancellationData(orderHash, 'uint256', salt)).signature).toBe(signature);
  });

  test('the query of DELETE has the same hashes and signatures as the body', () => {
    const { orderHashes, signatures } = examples.cancelQuery;
    expect(orderHashes.map((orderHash, index) => ({ orderHash, signature: signatures[index] }))).toEqual(
      examples.cancellations,
    );
  });
});

test('the info names the receipt signer', () => {
  expect(examples.info.receiptSigners).toEqual([vectors.keys.receiptSigner.address]);
});

describe('an example of a quote', () => {
  const swap = new Interface([
    'function swapQuoteV1((uint256 quoteId,address tokenIn,uint256 amountIn,address tokenOut,address recipient,uint256 deadline) quote,bytes route,uint256[] minOutput,bytes signature)',
  ]);
  const uint256s = (...names: string[]) => names.map((name) => ({ name, type: 'uint256' }));
  const addresses = (...names: string[]) => names.map((name) => ({ name, type: 'address' }));
  const { serviceName, navigator } = exampleDomain;
  const domain = { ...vectors.domain, name: `${serviceName} Navigator`, verifyingContract: navigator };
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
    return { minOutput: signed.minOutput, signer: verifyTypedData(domain, types, signed, signature) };
  };

  test('has the minimum asked for after its patch, and is signed by the quote signer before and after', () => {
    const signer = new Wallet(EXAMPLE_QUOTE_SIGNER_KEY).address;
    expect(read(examples.quotePatch.data)).toEqual({ minOutput: [1000n], signer });
    expect(read(examples.patchedQuote)).toEqual({ minOutput: [BigInt(examples.quotePatch.minOutput.amount)], signer });
  });
});
