import { orderTypes, type SigningDomain, typedDataDomain } from '@makerbook/contracts-evm';
import { recoverAddress as recoverWithEthers, TypedDataEncoder } from 'ethers';
import { createMakers, createOrderSigner } from '../kit/sign-orders.js';
import { createRounds } from './compare-services.js';
import { createStages } from './measure-stages.js';
import { type BenchOptions, compare, type Figure } from './report.js';
import { measureCpu, openVerifyFloor } from './verify-floor.js';

const ORDERS_PER_ROUND = 500;
const WARMING_ROUNDS = 3;
/** ethers takes some twenty times as long: fewer orders give as long a measurement. */
const ETHERS_ORDERS_PER_ROUND = 50;

/** CPU of verifying one order, in turn: as ingress does it, as ethers does it, and what nobody can do without. */
export async function benchVerify({ isQuick }: BenchOptions): Promise<readonly Figure[]> {
  const rounds = isQuick ? 5 : 40;
  const domain: SigningDomain = {
    serviceName: 'Makerbook',
    chainId: 8217,
    verifyingContract: '0x00000000000000000000000000000000000000aa',
  };
  const [maker] = createMakers(1);
  if (maker === undefined) throw new Error('there is no maker');
  const sign = createOrderSigner(domain, {
    makingToken: '0x0000000000000000000000000000000000000001',
    takingToken: '0x0000000000000000000000000000000000000002',
    expiresAtSeconds: 4_000_000_000,
  });
  const orders = Array.from({ length: ORDERS_PER_ROUND }, () => sign(maker));
  const floor = await openVerifyFloor(orders);
  const measureStages = createStages(domain, orders);
  const few = orders.slice(0, ETHERS_ORDERS_PER_ROUND);
  const ethersDomain = typedDataDomain(domain);
  const verifyWithEthers = () => {
    for (const { order, signature, orderHash } of few) {
      const digest = TypedDataEncoder.hash(ethersDomain, orderTypes, order);
      if (digest !== orderHash) throw new Error('the hash is another');
      if (recoverWithEthers(digest, signature).toLowerCase() !== order.maker) throw new Error('the signer is another');
    }
  };

  const taken = createRounds();
  for (let round = -WARMING_ROUNDS; round < rounds; round += 1) {
    const measured = {
      ours: (await measureStages()).verify,
      ethers: measureCpu(verifyWithEthers) / few.length,
      floor: await floor.measure(),
    };
    if (round >= 0) for (const [name, us] of Object.entries(measured)) taken.add(name, us);
  }
  floor.close();
  return [
    compare(`verify an order, by ${floor.name}`, 'µs of CPU', taken.compare('ours', 'floor'), { ratioMax: 1.25 }),
    compare('the same by ethers', 'µs of CPU', taken.compare('ethers', 'floor')),
  ];
}
