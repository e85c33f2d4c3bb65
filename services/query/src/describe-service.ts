import { topicNames } from '@makerbook/contracts-events';
import { typedDataDomain } from '@makerbook/contracts-evm';
import { type Info, paths } from '@makerbook/contracts-http';
import type { UnixMs } from '@makerbook/contracts-primitives';
import { okJson, type Route, serveDocument, shareResult } from '@makerbook/http';
import type { PartitionClockRow } from '@makerbook/postgres';
import { readTokens, signingDomain } from '@makerbook/settings';
import { cancelBudgetOf } from '@makerbook/whitelist';
import { createDocuments } from './docs/create-documents.js';
import type { QuerySettings } from './env.js';

const AGE_SECONDS_MAX = 1;

/** GET …/info. Reads the block at most once a second, however many clients ask. */
export function createInfoRoute(
  settings: QuerySettings,
  { readBlock, unixMs }: { readonly readBlock: () => Promise<Info['block']>; readonly unixMs: () => UnixMs },
): Route {
  const readShared = shareResult(readBlock, AGE_SECONDS_MAX * 1000);
  const described = describeService(settings);
  return {
    method: 'GET',
    path: paths.info,
    async handle() {
      const block = await readShared();
      const info: Info = { ...described, serverTime: Math.floor(unixMs() / 1000), block };
      return okJson(JSON.stringify(info), { 'Cache-Control': `public, max-age=${AGE_SECONDS_MAX}` });
    },
  };
}

/** The newest block that all partitions have folded. Null while one of them has folded none. */
export function foldedBlock(clocks: readonly PartitionClockRow[], partitions: number): Info['block'] {
  const blocks = clocks.flatMap(({ block }) => block ?? []);
  if (blocks.length < partitions) return null;
  // Both only grow, so the least of each belongs to the partition that is furthest behind.
  const least = (key: 'number' | 'timestamp') => Math.min(...blocks.map((block) => block[key]));
  return { number: least('number'), timestamp: least('timestamp') };
}

/** The routes of the documents: OpenAPI, AsyncAPI, and the page with its files. @throws if a file is missing */
export function createDocumentRoutes(settings: QuerySettings): Route[] {
  const bookTopic = topicNames(settings.TOPIC_PREFIX).book;
  const documents = createDocuments({ info: describeService(settings), bookTopic, partitions: settings.PARTITIONS });
  return documents.map(serveDocument);
}

/** What a maker needs to sign and to call, read from the settings: GET …/info without clock and block. */
export function describeService(settings: QuerySettings): Omit<Info, 'serverTime' | 'block'> {
  const { serviceName, chainId, verifyingContract } = signingDomain(settings);
  const domain = { ...typedDataDomain(signingDomain(settings)), chainId };
  return {
    serviceName,
    chainId,
    contracts: {
      limitOrderProtocol: verifyingContract,
      navigator: settings.NAVIGATOR_ADDRESS,
      orderFiller: settings.ORDER_FILLER_ADDRESS,
    },
    tokens: readTokens(settings),
    domains: { order: domain, cancellation: domain, list: domain },
    receiptSigners: settings.RECEIPT_SIGNERS,
    limits: describeLimits(settings),
  };
}

function describeLimits(settings: QuerySettings): Info['limits'] {
  const cancels = cancelBudgetOf(settings, {});
  return {
    ordersPerPost: settings.MAX_ORDERS_PER_POST,
    openOrdersPerMaker: settings.MAX_OPEN_ORDERS_PER_MAKER,
    rememberedHashesPerMaker: settings.REMEMBERED_HASHES_PER_MAKER_MAX,
    cancelsPerDelete: settings.MAX_CANCELS_PER_DELETE,
    cancelWaitSeconds: settings.CANCEL_WAIT_SECONDS_MAX,
    orderBudget: { perSecond: settings.ORDER_BUDGET_PER_SECOND, burst: settings.ORDER_BUDGET_BURST },
    cancelBudget: { perSecond: cancels.ratePerSecond, burst: cancels.burst },
    listBudget: { perSecond: settings.LIST_BUDGET_PER_SECOND, burst: settings.LIST_BUDGET_BURST },
    clientRequests: {
      windowSeconds: settings.CLIENT_WINDOW_SECONDS,
      place: settings.CLIENT_REQUESTS_MAX,
      cancel: settings.CANCEL_REQUESTS_MAX,
      list: settings.CLIENT_REQUESTS_MAX,
      patch: settings.PATCH_REQUESTS_MAX,
    },
    requestTtlSeconds: settings.REQUEST_TTL_SECONDS,
    clockSkewSeconds: settings.CLOCK_SKEW_SECONDS,
    bodyBytesMax: settings.BODY_BYTES_MAX,
    headerBytesMax: settings.HEADER_BYTES_MAX,
    gracePeriodSeconds: settings.ROUTING_GRACE_SECONDS,
  };
}
