import { describe, expect, test } from '@jest/globals';
import { RpcRefused } from './failures.js';

describe('a refusal', () => {
  test.each([
    [-32000, 'header not found', true, false],
    [-32000, 'missing trie node', true, false],
    [-32005, 'limit exceeded', true, false],
    [-32603, 'internal error', true, false],
    [-32000, 'execution aborted (timeout = 5s)', true, false],
    [-32000, 'request timed out', true, false],
    [-32000, 'gas required exceeds allowance', true, false],
    [-32601, 'the method does not exist', false, false],
    [-32602, 'invalid argument', false, false],
    [3, 'execution reverted: paused', false, true],
    [3, 'paused', false, true],
    [-32000, 'evm: execution reverted', false, true],
    [-32000, 'err: out of gas (supplied gas 400000)', false, true],
    [-32603, 'EVM error OutOfGas', false, true],
    [-32603, 'EVM error MemoryOOG', false, true],
    [-32000, 'gas uint64 overflow', false, true],
    [-32000, 'invalid opcode: INVALID', false, true],
    [-32000, 'VM error occurs while running smart contract', false, true],
  ])(
    'with code %s and "%s" can be retried: %s; comes from the execution itself: %s',
    (code, reason, retryable, isOfExecution) => {
      expect(new RpcRefused('eth_call', code, reason)).toMatchObject({ retryable, isOfExecution });
    },
  );

  test('by one of several endpoints can be retried, whatever its code', () => {
    expect(new RpcRefused('eth_getLogs', -32601, 'no', { isOneOfSeveral: true }).retryable).toBe(true);
  });

  test('names the endpoint that refused', () => {
    const refused = new RpcRefused('eth_call', -32005, 'limit exceeded', { endpoint: 'node.example:8551' });
    expect(refused.message).toBe('eth_call was refused by node.example:8551 with -32005: limit exceeded');
  });
});
