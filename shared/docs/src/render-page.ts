import type { BookEntry } from '@makerbook/contracts-events';
import { deployArtifacts, type Order } from '@makerbook/contracts-evm';
import { info } from '@makerbook/contracts-http';
import { type Types, typeString } from './browser/typed-data.js';
import { describeFields } from './describe-fields.js';
import { type Deployment, describeForBrowser, domainSeparatorOf, signedTypes } from './describe-interface.js';
import { type AbiItem, describeAbi } from './render-abi.js';
import { renderGuide } from './render-guide.js';
import { codeBlock, escapeHtml, type Html, jsonBlock, prose, table } from './render-html.js';
import {
  renderCodes,
  renderErrorsOfAnyRequest,
  renderOperationLinks,
  renderOperations,
  renderProblemExample,
} from './render-operations.js';

/** Files of `assets/` that the page is made from. */
export interface PageAssets {
  /** HTML with `{{names}}` in the places of values. */
  readonly template: string;
  /** The programs that it shows. */
  readonly order: string;
  readonly fill: string;
  /** The guide to the router's feed, in Markdown. */
  readonly guide: string;
}

/** The ABI of the LimitOrderProtocol contract. */
export const protocolAbi: readonly AbiItem[] = deployArtifacts.LimitOrderProtocol.abi;

/**
 * The page: its template with this deployment's values, and with what the contracts say of operations, errors and types.
 * @throws Error where the template and the values do not fit each other
 */
export function renderPage(assets: PageAssets, deployment: Deployment, importMap: string): Html {
  const { info: service, bookTopic, partitions } = deployment;
  const { limits, contracts } = service;
  return fill(assets.template, {
    serviceName: escapeHtml(service.serviceName),
    chainId: String(service.chainId),
    limitOrderProtocol: contracts.limitOrderProtocol,
    navigator: contracts.navigator,
    bookTopic: escapeHtml(bookTopic),
    partitions: String(partitions),
    requestTtlSeconds: String(limits.requestTtlSeconds),
    clockSkewSeconds: String(limits.clockSkewSeconds),
    gracePeriodSeconds: String(limits.gracePeriodSeconds),
    data: renderData(deployment, importMap),
    operationLinks: renderOperationLinks(),
    firstOrder: codeBlock('`order.mjs`', assets.order),
    signedStructs: renderStructs(),
    domain: jsonBlock('The domain of an order', service.domains.order),
    orderFields: renderOrderFields(),
    domainSeparator: domainSeparatorOf(deployment),
    walletTypes: jsonBlock('The types of an order, for `eth_signTypedData_v4`', signedTypes.order),
    operations: renderOperations(),
    states: table(
      ['status', 'meaning', 'next'],
      states.map((row) => row.map(prose)),
    ),
    cancels: table(
      ['how', 'cost', 'what it does'],
      cancels.map((row) => row.map(prose)),
    ),
    problemExample: renderProblemExample(),
    codes: renderCodes(),
    errorsOfAnyRequest: renderErrorsOfAnyRequest(),
    limits: renderLimits(limits),
    bookEntry: jsonBlock('The value of a record', bookEntry),
    fill: codeBlock('A fill, with ethers', assets.fill),
    guide: renderGuide(assets.guide),
    abi: codeBlock('The contract, as ethers and `parseAbi` of viem take it', describeAbi(protocolAbi)),
  });
}

function fill(template: string, values: Readonly<Record<string, string>>): Html {
  const unused = new Set(Object.keys(values));
  const page = template.replace(/\{\{(\w+)\}\}/g, (_, name: string) => {
    const value = values[name];
    if (value === undefined) throw new Error(`the page has no value for ${name}`);
    unused.delete(name);
    return value;
  });
  if (unused.size > 0) throw new Error(`the page has no place for ${[...unused].join(', ')}`);
  return page;
}

/** What the browser reads: where modules are, and the values that the panel needs. */
function renderData(deployment: Deployment, importMap: string): Html {
  // In a block of JSON a `<` could end the block.
  const values = JSON.stringify(describeForBrowser(deployment)).replaceAll('<', '\\u003c');
  return `<script type="importmap">${importMap}</script>
<script type="application/json" id="interface">${values}</script>`;
}

function renderStructs(): Html {
  const structs: readonly [what: string, name: string, types: Types][] = [
    ['an order, to place it', 'Order', signedTypes.order],
    ['a list request', 'GetLimitOrdersRequest', signedTypes.list],
    ['the cancellation of one order', 'OrderCancellationRequest', signedTypes.cancellation.uint256],
  ];
  return table(
    ['what', 'type string', 'type string of the domain'],
    structs.map(([what, name, types]) => [
      what,
      `<code>${typeString(types, name)}</code>`,
      `<code>${typeString(types, 'EIP712Domain')}</code>`,
    ]),
  );
}

function renderLimits(limits: Deployment['info']['limits']): Html {
  const described = new Map(
    describeFields(info.shape.limits, 'output').map(({ name, description }) => [name, description]),
  );
  const rows = Object.entries(limits).map(([name, value]) => [
    `<code>${name}</code>`,
    typeof value === 'number'
      ? numberOf(value)
      : Object.entries(value)
          .map(([key, each]) => `${key}&nbsp;${numberOf(each)}`)
          .join(', '),
    prose(described.get(name) ?? ''),
  ]);
  return table(['limit', 'value', 'meaning'], rows);
}

const numberOf = (value: number) => value.toLocaleString('en-GB');

function renderOrderFields(): Html {
  const rows = Object.entries(orderFields).map(([name, meaning]) => [`<code>${name}</code>`, prose(meaning)]);
  return table(['field of an order', 'meaning'], rows);
}

const orderFields: Readonly<Record<keyof Order, string>> = {
  salt: 'A random uint256: it keeps orders of the same terms apart.',
  nonce:
    'The maker’s current nonce: `nonce(maker)` of the contract, 0 for a new maker. Another one means that the order is cancelled.',
  expiresAt:
    'Unix seconds, not milliseconds, which would be taken: nothing bounds it from above. From then on the order is expired for good; in its last `gracePeriodSeconds` no router is given it.',
  making: 'What the maker sells: `token` and `amount`, in the smallest unit of the token.',
  taking: 'What the maker buys for all of it. The price is `taking.amount` ÷ `making.amount`, also of a part.',
  maker: 'The maker: who signs, holds the token that is sold, and has approved the contract.',
  permittedTaker: 'The zero address: anybody may fill the order.',
};

const states = [
  [
    '`VALIDATING`',
    'Accepted, and not read on the chain yet.',
    '`ACTIVE` or `INACTIVE` with the next block, as a rule; gone where its nonce is not the maker’s then',
  ],
  [
    '`ACTIVE`',
    'Balance and allowance covered what is left of it at the last block, and its nonce is the maker’s. Routers are not given it in its last `gracePeriodSeconds`, nor while its maker is suspended.',
    '`INACTIVE`, or gone',
  ],
  [
    '`INACTIVE`',
    'Something is missing, `reason` says what: `INSUFFICIENT_ALLOWANCE`, which is judged first, or `INSUFFICIENT_BALANCE`.',
    '`ACTIVE` as soon as the funds are there again, or gone',
  ],
] as const;

const cancels = [
  [
    '`DELETE /v0alpha/limit-orders`',
    'no gas',
    'The order leaves the list and the routers’ feed for good, also while it is still being placed. It is not invalid on the chain: who has the order and its signature can fill it until it expires.',
  ],
  [
    '`cancelOrder(order)` of the contract',
    'gas',
    'Invalid on the chain, for everybody and for good; the service sees it with the block.',
  ],
  [
    '`cancelAllOrders()` of the contract',
    'gas',
    'The maker’s nonce grows by one: every order with a lower nonce is invalid for good.',
  ],
] as const;

/** A record of the feed, for example. */
export const bookEntry: Omit<Extract<BookEntry, { status: 'ACTIVE' }>, 'type'> = {
  orderHash: `0x${'5b15b95ea1e42d95'.repeat(4)}`,
  order: {
    salt: '0x7b1f',
    nonce: '0x0',
    expiresAt: '0x6b49d200',
    making: { token: `0x${'2'.repeat(40)}`, amount: '0x64' },
    taking: { token: `0x${'3'.repeat(40)}`, amount: '0x32' },
    maker: '0x1a642f0e3c3af545e7acbd38b07251b3990914f1',
    permittedTaker: `0x${'0'.repeat(40)}`,
  },
  signature: `0x${'ecbb79eb7774521c'.repeat(8)}1c`,
  remainingMakingAmount: '0x64',
  routableUntil: 1_799_999_940,
  acceptedAtMs: 1_799_996_400_123,
  position: { partition: 3, offset: '421337' },
  causes: ['OBSERVED'],
  status: 'ACTIVE',
  funding: { balance: '0x3e8', allowance: '0xc8', block: 200_000_000 },
};
