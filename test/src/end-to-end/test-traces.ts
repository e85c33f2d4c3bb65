import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { topicNames } from '@makerbook/contracts-events';
import { paths } from '@makerbook/contracts-http';
import { connectLog, type Log } from '@makerbook/kafka';
import { silentLogger } from '@makerbook/telemetry';
import { eventually } from '../kit/eventually.js';
import { openMakers, type TestMaker } from '../kit/open-maker.js';
import type { ReceivedSpan } from '../kit/receive-spans.js';
import type { WholeStack } from './open-whole.js';

type Headers = Readonly<Record<string, string>>;

/** A message of the router's feed. */
interface FeedMessage {
  readonly key: string;
  readonly status: string;
  readonly headers: Headers;
}

/** Tests that one trace leads from the POST through the log to the feed, and from a block to each status it changed. */
export function testTraces(whole: () => WholeStack): void {
  let maker: TestMaker;
  let log: Log;
  let facts: string;
  let book: string;
  const feed: FeedMessage[] = [];

  beforeAll(async () => {
    const { stack, chain } = whole();
    [maker] = (await openMakers(stack, chain, 1)) as [TestMaker];
    await maker.mint(1000n);
    await maker.approve(1000n);
    ({ makerEvents: facts, book } = topicNames(stack.topicPrefix));
    log = connectLog({ brokers: stack.addresses.kafkaBrokers.split(','), clientId: 'router', logger: silentLogger });
    log.followTopic({
      topic: book,
      from: 'beginning',
      onRecords: (_, records) => {
        for (const { key, value, headers } of records) {
          const status = value === null ? 'gone' : (JSON.parse(value.toString()).status ?? 'clock');
          feed.push({ key, status, headers });
        }
      },
    });
  });
  afterAll(() => log?.close());

  const tracesOf = (traceId: string) => {
    const spans = whole().spans.spans();
    const inTrace = (one: { readonly traceId: string }) => one.traceId === traceId;
    return spans.filter((span) => inTrace(span) || span.links.some(inTrace));
  };

  /** Waits for the one span of a service that matches. */
  async function findSpan(traceId: string, service: string, isWanted: (span: ReceivedSpan) => boolean) {
    const find = () => tracesOf(traceId).filter((span) => span.resource['service.name'] === service && isWanted(span));
    await eventually(async () => find().length, 1);
    return find()[0] as ReceivedSpan;
  }

  /** The span of the handled batch that holds the message of another span. */
  function findHandling(traceId: string, service: string, { spanId }: ReceivedSpan) {
    return findSpan(
      traceId,
      service,
      ({ kind, links }) =>
        kind === 'CONSUMER' && links.some((link) => link.traceId === traceId && link.spanId === spanId),
    );
  }

  async function findMessage(orderHash: string, status: string): Promise<FeedMessage> {
    const find = () => feed.findLast(({ key }) => key === orderHash);
    await eventually(async () => find()?.status, status);
    return find() as FeedMessage;
  }

  const traceparentOf = ({ traceId, spanId }: ReceivedSpan) => `00-${traceId}-${spanId}-01`;

  test('the trace of a request goes from the POST through the log, the reading of the chain and the folds to the feed', async () => {
    const [traceId, parentId] = [randomBytes(16).toString('hex'), randomBytes(8).toString('hex')];
    const { order, orderHash, signature } = await maker.sign();
    const brought = { tracestate: 'vendor=1', baggage: 'tenant=a' };
    const requestId = `request-${traceId}`;
    const traceparent = `00-${traceId}-${parentId}-01`;
    const answer = await fetch(whole().stack.addresses.baseUrl + paths.limitOrders, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', ...brought, traceparent, 'X-Request-Id': requestId },
      body: JSON.stringify([{ order, signature }]),
    });
    expect(answer.status).toBe(200);

    const server = await findSpan(traceId, 'ingress', ({ kind }) => kind === 'SERVER');
    const address = maker.wallet.address.toLowerCase();
    expect(server).toMatchObject({ traceId, parentSpanId: parentId, name: `POST ${paths.limitOrders}` });
    expect(server.attributes).toEqual({
      'http.request.method': 'POST',
      'http.route': paths.limitOrders,
      'http.response.status_code': 200,
      'url.path': paths.limitOrders,
      'url.scheme': 'http',
      'makerbook.request_id': requestId,
      'makerbook.maker': address,
      'makerbook.orders': 1,
    });
    expect(server.resource).toMatchObject({
      'deployment.environment.name': 'test',
      'service.instance.id': expect.any(String),
    });

    const submitted = await findSpan(traceId, 'ingress', ({ kind }) => kind === 'PRODUCER');
    expect(submitted).toMatchObject({ traceId, parentSpanId: server.spanId, name: `send ${facts}` });
    const { attributes: place } = submitted;
    expect(place).toMatchObject({
      'messaging.system': 'kafka',
      'messaging.destination.name': facts,
      'messaging.batch.message_count': 1,
      'messaging.destination.partition.id': expect.stringMatching(/^\d+$/),
      'messaging.kafka.offset': expect.any(Number),
      'makerbook.request_id': requestId,
    });

    const reading = await findHandling(traceId, 'chain-watcher', submitted);
    expect(reading).toMatchObject({ traceId, parentSpanId: submitted.spanId, name: `process ${facts}` });
    expect(reading.links[0]?.attributes).toEqual({ 'makerbook.maker': address, 'makerbook.order_hash': orderHash });
    const observed = await findSpan(
      traceId,
      'chain-watcher',
      ({ kind, parentSpanId }) => kind === 'PRODUCER' && parentSpanId === reading.spanId,
    );

    const [firstFold, secondFold] = [
      await findHandling(traceId, 'projector', submitted),
      await findHandling(traceId, 'projector', observed),
    ];
    expect(firstFold.links.find(({ spanId }) => spanId === submitted.spanId)?.attributes).toEqual({
      'messaging.kafka.offset': place['messaging.kafka.offset'],
      'cloudevents.event_type': 'makerbook.OrderSubmitted.v1',
      'makerbook.maker': address,
      'makerbook.request_id': requestId,
    });
    for (const fold of [firstFold, secondFold]) {
      expect(fold).toMatchObject({ name: `process ${facts}`, status: { code: 0 } });
      expect(fold.attributes).toMatchObject({
        'messaging.consumer.group.name': `${whole().stack.topicPrefix}makerbook-projector`,
        'messaging.destination.partition.id': place['messaging.destination.partition.id'],
      });
    }
    // A new order is in the book once it was read.
    const published = whole()
      .spans.spans()
      .find(({ parentSpanId }) => parentSpanId === secondFold.spanId);
    expect(published).toMatchObject({ name: `send ${book}`, kind: 'PRODUCER', traceId: secondFold.traceId });

    const active = await findMessage(orderHash, 'ACTIVE');
    expect(active.headers).toMatchObject({ ...brought, traceparent: traceparentOf(observed) });
    expect(feed.find(({ key }) => key === orderHash)).toEqual(active);
  });

  test('the trace of a request that is refused names the code, and nothing of its query', async () => {
    const traceId = randomBytes(16).toString('hex');
    const headers = { traceparent: `00-${traceId}-${'1'.repeat(16)}-01` };
    const answer = await fetch(`${whole().stack.addresses.baseUrl}${paths.limitOrders}?signature=0x1234`, { headers });
    expect(answer.status).toBe(400);
    const server = await findSpan(traceId, 'query', ({ kind }) => kind === 'SERVER');
    expect(server).toMatchObject({ name: `GET ${paths.limitOrders}`, status: { code: 0 } });
    expect(server.attributes).toMatchObject({
      'http.response.status_code': 400,
      'makerbook.error_code': 'invalid_request',
      'makerbook.request_id': answer.headers.get('x-request-id'),
    });
    expect(JSON.stringify(server)).not.toContain('1234');
  });

  test('metrics have the names and labels of the conventions', async () => {
    await fetch(`${whole().stack.addresses.baseUrl}${paths.limitOrders}`);
    const scrape = await fetch(`${whole().stack.opsUrl('query')}/metrics`);
    const lines = (await scrape.text()).split('\n');
    const labels = [
      'http_request_method="GET"',
      `http_route="${paths.limitOrders}"`,
      'http_response_status_code="400"',
      'makerbook_error_code="invalid_request"',
    ];
    expect(lines).toContainEqual(
      expect.stringMatching(new RegExp(`^http_server_request_duration_seconds_count\\{${labels.join(',')}\\} [1-9]`)),
    );
    expect(lines).toContainEqual(expect.stringMatching(/^nodejs_eventloop_utilization_ratio [01]/));
    expect(lines).toContainEqual(expect.stringMatching(/^target_info\{.*service_name="query"/));
  });

  test('the trace of a block goes on to each status that the block changed', async () => {
    const [order] = await maker.place({ amount: 900n });
    const orderHash = order?.orderHash ?? '';
    await findMessage(orderHash, 'ACTIVE');
    await maker.spend(500n);
    const message = await findMessage(orderHash, 'INACTIVE');
    const [, traceId = ''] = (message.headers['traceparent'] ?? '').split('-');
    const root = await findSpan(traceId, 'chain-watcher', ({ kind }) => kind === 'INTERNAL');
    expect(root).toMatchObject({ name: 'process block', parentSpanId: '', traceId });
    expect(root.attributes).toMatchObject({
      'makerbook.block': expect.any(Number),
      'makerbook.block_hash': expect.stringMatching(/^0x[0-9a-f]{64}$/),
    });
    const published = await findSpan(traceId, 'chain-watcher', ({ kind }) => kind === 'PRODUCER');
    expect(published).toMatchObject({ parentSpanId: root.spanId, name: `send ${facts}` });
    expect(message.headers['traceparent']).toBe(traceparentOf(published));
    await eventually(async () => {
      const folds = tracesOf(traceId).filter(({ kind, links }) => kind === 'CONSUMER' && links.length > 0);
      const links = folds.flatMap((fold) => fold.links).filter(({ spanId }) => spanId === published.spanId);
      return links.some(({ attributes }) => attributes['makerbook.maker'] === maker.wallet.address.toLowerCase());
    }, true);
  });
}
