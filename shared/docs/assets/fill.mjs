import { Contract } from 'ethers';

/** Fills all that is left of an order. `entry`: a record of the book, ACTIVE. `taker`: a signer of ethers. */
export async function fillOrder(limitOrderProtocol, entry, taker) {
  const protocol = new Contract(
    limitOrderProtocol,
    [
      'function fillOrder((uint256 salt, uint256 nonce, uint256 expiresAt, (address token, uint256 amount) making, (address token, uint256 amount) taking, address maker, address permittedTaker) order, bytes signature, uint256 makingAmount, uint256 maxTakingAmount) returns (uint256 takingAmount)',
    ],
    taker,
  );

  const { order, signature, remainingMakingAmount } = entry;
  const makingAmount = BigInt(remainingMakingAmount);
  const [making, taking] = [BigInt(order.making.amount), BigInt(order.taking.amount)];
  const price = (makingAmount * taking + making - 1n) / making; // rounded up
  return protocol.fillOrder(order, signature, makingAmount, price);
}
