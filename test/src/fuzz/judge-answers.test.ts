import { expect, test } from '@jest/globals';
import { problemBody } from '@makerbook/contracts-http';
import { Wallet } from 'ethers';
import { bytesOf, requestMaker } from '../kit/make-requests.js';
import type { Exchange, RawAnswer } from '../kit/raw-http.js';
import { type FuzzedOperation, judgeExchange, judgePlaced } from './judge-answers.js';

const address = `0x${'11'.repeat(20)}`;
const make = requestMaker({
  ...{ baseUrl: '', kafkaBrokers: '', databaseUrl: '', redisUrl: '', rpcUrl: '', quoteSigners: [] },
  ...{ chainId: 8217, serviceName: 'Fuzz', limitOrderProtocol: address, navigator: address, multicall: address },
  ...{ tokens: [], pools: [] },
});
const [maker, stranger] = [new Wallet(`0x${'01'.repeat(32)}`), new Wallet(`0x${'02'.repeat(32)}`)];
const item = make.order(maker);
const operation: FuzzedOperation = {
  name: 'placeOrders',
  codes: new Set(['duplicate', 'unavailable']),
  judge: judgePlaced(make, new Set([maker.address.toLowerCase()])),
};

const answer = (status: number, body: unknown, type = 'application/problem+json; charset=utf-8'): RawAnswer => ({
  status,
  headers: new Map([
    ['content-type', type],
    ['x-request-id', 'id'],
  ]),
  body: Buffer.from(JSON.stringify(body)),
});
const problem = (code: Parameters<typeof problemBody>[0]) => {
  const body = problemBody(code, { detail: 'why' }, 'id');
  return answer(body.status, body);
};
const placed = (change: object = {}) =>
  answer(200, [{ orderHash: item.orderHash, status: 'VALIDATING', ...change }], 'application/json');

function judge(answers: readonly RawAnswer[], sent = item, rest: Partial<Exchange> = {}): string | undefined {
  const asked = make.post([sent]);
  const request = { asked, bytes: bytesOf(asked), isOfOperation: true, isFramed: true, mutation: '' };
  return judgeExchange(request, { answers, rest: Buffer.alloc(0), end: 'answered', ...rest }, operation).fault;
}

test.each<[string, string | undefined, RegExp]>([
  ['silence', judge([], item, { end: 'timeout' }), /no answer in time/],
  ['a closed connection', judge([], item, { end: 'closed' }), /0 answers/],
  ['two answers', judge([problem('duplicate'), problem('duplicate')]), /2 answers/],
  ['bytes behind the answer', judge([problem('duplicate')], item, { rest: Buffer.from('x') }), /what is no answer: x/],
  ['a code of another operation', judge([problem('no_changes')]), /not a code of placeOrders/],
  ['a fault of the service', judge([problem('internal')]), /"internal"/],
  ['a page', judge([answer(404, '', 'text/html')]), /no problem document/],
  ['another status than that of the code', judge([{ ...problem('duplicate'), status: 409 }]), /not its status/],
  ['another hash', judge([placed({ orderHash: `0x${'00'.repeat(32)}` })]), /not its own/],
  [
    'somebody else’s signature',
    judge([placed()], { ...item, signature: make.sign.signOrder(stranger, item.order) }),
    /is signed by/,
  ],
  ['a maker who is not on the whitelist', judge([placed()], make.order(stranger)), /not on the whitelist/],
])('%s is a fault', (_name, fault, said) => {
  expect(fault).toMatch(said);
});
