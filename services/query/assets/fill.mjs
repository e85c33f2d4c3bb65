import { Contract } from 'ethers';

const baseUrl = 'BASE_URL';
const abi = await (await fetch(`${baseUrl}/docs/limit-order-protocol.json`)).json();

/** Fills all that is left of an order. `entry`: a record of the book, ACTIVE. `taker`: a signer of ethers. */
export async function fillOrder(limitOrderProtocol, entry, taker) {
  const { order, signature, remainingMakingAmount } = entry;
  const makingAmount = BigInt(remainingMakingAmount);
  const [making, taking] = [BigInt(order.making.amount), BigInt(order.taking.amount)];
  const price = (makingAmount * taking + making - 1n) / making; // rounded up
  return new Contract(limitOrderProtocol, abi, taker).fillOrder(order, signature, makingAmount, price);
}
