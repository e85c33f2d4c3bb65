import { describe, expect, test } from '@jest/globals';
import { deployArtifacts, limitOrderProtocolFragments } from '@makerbook/contracts-evm';
import type { Hex } from '@makerbook/contracts-primitives';
import { Interface } from 'ethers';
import { allowance, balanceOf, cancelledOf, decodeAggregate3, filledOf, nonceOf } from './encode-calls.js';

const token = '0x5fbdb2315678afecb367f032d93f642f64180aa3';
const maker = '0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266';
const protocol = '0xe7f1725e7734ce288f8367e1bb143e90bb3f0512';
const orderHash: Hex = `0x${'ab'.repeat(31)}0c`;
const erc20 = new Interface(deployArtifacts.TestToken.abi);
const limitOrderProtocol = new Interface(limitOrderProtocolFragments);
const multicall = new Interface(deployArtifacts.Multicall3.abi);

describe('calls encoded by hand', () => {
  test.each([
    ['balanceOf', balanceOf(token, maker), erc20.encodeFunctionData('balanceOf', [maker])],
    ['allowance', allowance(token, maker, protocol), erc20.encodeFunctionData('allowance', [maker, protocol])],
    ['nonce', nonceOf(protocol, maker), limitOrderProtocol.encodeFunctionData('nonce', [maker])],
    ['filled', filledOf(protocol, orderHash), limitOrderProtocol.encodeFunctionData('filled', [orderHash])],
    ['cancelled', cancelledOf(protocol, orderHash), limitOrderProtocol.encodeFunctionData('cancelled', [orderHash])],
  ])('%s is what ethers encodes', (_name, call, expected) => {
    expect(call.data).toBe(expected);
  });

  test('the result of aggregate3 is decoded as ethers encodes it', () => {
    const outcomes = [
      { succeeded: true, data: 'ff'.repeat(32) },
      { succeeded: false, data: '' },
      { succeeded: true, data: '01' },
      { succeeded: false, data: '08c379a0'.padEnd(200, '0') },
    ];
    for (let count = 0; count <= outcomes.length; count += 1) {
      const some = outcomes.slice(0, count);
      const returned = multicall.encodeFunctionResult('aggregate3', [
        some.map(({ succeeded, data }) => [succeeded, `0x${data}`]),
      ]) as Hex;
      expect(decodeAggregate3(returned, count)).toEqual(some);
      expect(decodeAggregate3(returned, count + 1)).toBeUndefined();
    }
  });

  test('a cut-off or empty result is not accepted', () => {
    const returned = multicall.encodeFunctionResult('aggregate3', [[[true, `0x${'ff'.repeat(32)}`]]]) as Hex;
    for (let length = 2; length < returned.length; length += 1) {
      expect(decodeAggregate3(returned.slice(0, length) as Hex, 1)).toBeUndefined();
    }
    expect(decodeAggregate3('0x', 0)).toBeUndefined();
  });
});
