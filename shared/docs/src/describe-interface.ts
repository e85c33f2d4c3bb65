import {
  bytesToHex,
  createOrderHasher,
  domainTypes,
  getLimitOrdersRequestTypes,
  orderCancellationRequestTypes,
  orderTypes,
  saltedDomainTypes,
} from '@makerbook/contracts-evm';
import { type Info, paths } from '@makerbook/contracts-http';
import type { SignedTypes } from './browser/requests.js';

/** What the page is made from besides the contracts: this deployment. */
export interface Deployment {
  /** GET …/info without what changes while the service runs. */
  readonly info: Omit<Info, 'serverTime' | 'block'>;
  /** `limit-orders.book.v1`, with its prefix. */
  readonly bookTopic: string;
  readonly partitions: number;
}

/** The structs that makers sign, as wallets take them. */
export const signedTypes: SignedTypes = {
  order: { ...domainTypes, ...orderTypes },
  list: { ...saltedDomainTypes('bytes32'), ...getLimitOrdersRequestTypes },
  cancellation: {
    uint256: { ...saltedDomainTypes('uint256'), ...orderCancellationRequestTypes },
    bytes32: { ...saltedDomainTypes('bytes32'), ...orderCancellationRequestTypes },
  },
};

/** What the modules in the browser are given: a block of JSON in the page. */
export function describeForBrowser({ info }: Deployment): object {
  return { info, types: signedTypes, paths };
}

/** The domain separator of orders: 0x and 64 hex digits. */
export function domainSeparatorOf({ info }: Deployment): string {
  const { serviceName, chainId } = info;
  const verifyingContract = info.domains.order.verifyingContract as `0x${string}`;
  return bytesToHex(createOrderHasher({ serviceName, chainId, verifyingContract }).domainSeparator);
}
