import type { Hex } from '@makerbook/contracts-primitives';
import { bytesToHex } from './hex.js';
import { keccak256OfText } from './keccak.js';

/** First topics of the logs that touch a maker, as lowercase hex. */
export const eventTopics = {
  /** `Transfer(from indexed, to indexed, value)` of an ERC-20. */
  transfer: topicOf('Transfer(address,address,uint256)'),
  /** `Approval(owner indexed, spender indexed, value)` of an ERC-20. */
  approval: topicOf('Approval(address,address,uint256)'),
  /** `Deposit(account indexed, value)` of a wrapped native token. It changes a balance without a Transfer. */
  deposit: topicOf('Deposit(address,uint256)'),
  /** `Withdrawal(account indexed, value)` of a wrapped native token. */
  withdrawal: topicOf('Withdrawal(address,uint256)'),
  /** `OrderFilled(maker indexed, orderHash indexed, taker, makingAmount, takingAmount, remainingMakingAmount)`. */
  orderFilled: topicOf('OrderFilled(address,bytes32,address,uint256,uint256,uint256)'),
  /** `OrderCancelled(maker indexed, orderHash indexed)`. */
  orderCancelled: topicOf('OrderCancelled(address,bytes32)'),
  /** `AllOrdersCancelled(maker indexed, newNonce)`. */
  allOrdersCancelled: topicOf('AllOrdersCancelled(address,uint256)'),
} as const;

function topicOf(signature: string): Hex {
  return bytesToHex(keccak256OfText(signature));
}
