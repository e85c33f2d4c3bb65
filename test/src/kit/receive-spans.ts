import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { z } from 'zod';

const attributeValue = z
  .union([
    z.object({ stringValue: z.string() }),
    z.object({ intValue: z.union([z.number(), z.string()]).transform(Number) }),
    z.object({ doubleValue: z.number() }),
    z.object({ boolValue: z.boolean() }),
    z.object({ arrayValue: z.object({ values: z.array(z.unknown()).optional() }) }).transform(() => ({ array: true })),
  ])
  .transform((value): unknown => Object.values(value)[0]);
const attributes = z
  .array(z.object({ key: z.string(), value: attributeValue }))
  .default([])
  .transform((pairs) => Object.fromEntries(pairs.map(({ key, value }) => [key, value])));
const kinds = ['UNSPECIFIED', 'INTERNAL', 'SERVER', 'CLIENT', 'PRODUCER', 'CONSUMER'] as const;
const link = z.object({ traceId: z.string(), spanId: z.string(), attributes });
const span = z.object({
  traceId: z.string(),
  spanId: z.string(),
  parentSpanId: z.string().default(''),
  name: z.string(),
  kind: z.number().transform((kind) => kinds[kind]),
  attributes,
  links: z.array(link).default([]),
  status: z.object({ code: z.number().default(0) }),
});
const request = z.object({
  resourceSpans: z.array(
    z.object({ resource: z.object({ attributes }), scopeSpans: z.array(z.object({ spans: z.array(span) })) }),
  ),
});

/** A span as it arrived, with its resource. */
export interface ReceivedSpan extends z.infer<typeof span> {
  readonly resource: Readonly<Record<string, unknown>>;
}

/** Opens a collector of OpenTelemetry. It takes spans over OTLP/HTTP and keeps them. */
export async function receiveSpans() {
  const received: ReceivedSpan[] = [];
  let failure: unknown;
  const server = createServer(async (incoming, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk as Buffer);
    try {
      if (incoming.url !== '/v1/traces') throw new Error(`${incoming.url} is not for spans`);
      for (const { resource, scopeSpans } of request.parse(JSON.parse(Buffer.concat(chunks).toString()))
        .resourceSpans) {
        for (const { spans } of scopeSpans) {
          received.push(...spans.map((each) => ({ ...each, resource: resource.attributes })));
        }
      }
    } catch (error) {
      failure ??= error;
    }
    response.setHeader('Content-Type', 'application/json').end('{}');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    /** The value of `OTEL_EXPORTER_OTLP_ENDPOINT`. The protocol is `http/json`. */
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    /** All spans so far. @throws once something came that is no OTLP */
    spans(): readonly ReceivedSpan[] {
      if (failure !== undefined) throw failure;
      return received;
    },
    async stop(): Promise<void> {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
