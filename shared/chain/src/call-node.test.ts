import { describe, expect, test } from '@jest/globals';
import { RpcRefused } from './failures.js';

describe('a refusal', () => {
  test.each([
    [-32000, 'header not found', true],
    [-32000, 'missing trie node', true],
    [-32005, 'limit exceeded', true],
    [-32603, 'internal error', true],
    [-32601, 'the method does not exist', false],
    [-32602, 'invalid argument', false],
    [3, 'execution reverted: paused', false],
    [-32000, 'evm: execution reverted', false],
  ])('with code %s and "%s" can be retried: %s', (code, message, retryable) => {
    expect(new RpcRefused('eth_call', code, message).retryable).toBe(retryable);
  });
});
