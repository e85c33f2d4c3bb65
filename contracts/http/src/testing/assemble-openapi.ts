import { readFileSync } from 'node:fs';
import type { z } from 'zod';
import {
  type CreateDocumentOptions,
  createDocument,
  type ZodOpenApiOperationObject,
  type ZodOpenApiPathsObject,
  type ZodOpenApiResponseObject,
} from 'zod-openapi';
import type { Content, ErrorCases, Operation } from '../operation.js';
import { answerHeaders, cacheHeaders, errorsOfAnyRequest, operations, retryHeaders } from '../operations.js';
import { type ProblemCode, problem, problemKinds } from '../problems.js';

const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
  version: string;
};

const description = `Makers sign limit orders off-chain (EIP-712) and post them; a router fills them. \`GET /v0alpha/limit-orders/info\`
gives the contracts, signing domains and limits of this service.

Every error is \`application/problem+json\` (RFC 9457) with a \`code\`. Answers may gain fields: ignore those that you
do not know. Requests may have only the fields that are described.`;

const tagDescriptions: Readonly<Record<Operation['tag'], string>> = {
  'Limit orders': 'Alpha: they can change or be removed without notice. The maker must be on the whitelist.',
  Book: 'Alpha: what can be filled, for routers and for readers that the operator allows.',
  Quotes: 'Quotes of the quote interface, v0 and v1.',
  Documents: 'This interface itself.',
};

/** Answers are open objects: later versions may add fields. */
const options: CreateDocumentOptions = {
  override({ jsonSchema, zodSchema, io }) {
    const { def } = zodSchema._zod;
    if (io === 'output' && def.type === 'object' && def.catchall === undefined) delete jsonSchema.additionalProperties;
  },
  allowEmptySchema: { custom: true },
};

const anyRequest: ZodOpenApiResponseObject = {
  id: 'AnyRequest',
  ...describeProblems('Errors that can answer any request.', errorsOfAnyRequest),
};

/** Describes the interface as OpenAPI 3.1, from `operations`. */
export function assembleOpenApi(): ReturnType<typeof createDocument> {
  const paths: ZodOpenApiPathsObject = {};
  for (const [operationId, operation] of Object.entries<Operation>(operations)) {
    const path = paths[operation.path] ?? {};
    path[operation.method.toLowerCase() as 'get'] = { operationId, ...describeOperation(operation) };
    paths[operation.path] = path;
  }
  return createDocument(
    {
      openapi: '3.1.0',
      info: {
        title: 'Makerbook',
        version,
        description,
        license: { name: 'UNLICENSED', identifier: 'LicenseRef-UNLICENSED' },
      },
      servers: [{ url: '/', description: 'The base URL that this document is read from' }],
      security: [],
      tags: Object.entries(tagDescriptions).map(([name, description]) => ({ name, description })),
      paths,
      components: { schemas: { Problem: problem } },
    },
    options,
  );
}

function describeOperation(operation: Operation): ZodOpenApiOperationObject {
  const { tag, summary, section, params, query, headers, body, answer } = operation;
  const lines = [operation.description, `Interface ${section}.`].filter((line) => line !== '');
  const requestParams = {
    ...(params && { path: params }),
    ...(query && { query }),
    ...(headers && { header: headers }),
  };
  return {
    tags: [tag],
    summary,
    description: lines.join('\n\n'),
    requestParams,
    ...(body && { requestBody: { required: true, content: contentOf(body) } }),
    responses: {
      200: {
        description: answer.description,
        headers: answer.headers === undefined ? answerHeaders : answerHeaders.extend(answer.headers.shape),
        content: contentOf(answer),
      },
      ...(answer.notModified && {
        304: { description: answer.notModified, headers: answerHeaders.extend(cacheHeaders.shape) },
      }),
      ...describeErrors(operation.errors),
      default: anyRequest,
    },
  };
}

function contentOf({ type, schema, example }: Content) {
  return { [type]: { schema, ...(example === undefined ? {} : { example }) } };
}

function describeErrors(errors: ErrorCases): Record<`${4 | 5}${string}`, ZodOpenApiResponseObject> {
  const byStatus = new Map<number, ErrorCases>();
  for (const code of Object.keys(errors) as ProblemCode[]) {
    const { status } = problemKinds[code];
    byStatus.set(status, { ...byStatus.get(status), [code]: errors[code] });
  }
  return Object.fromEntries([...byStatus].map(([status, cases]) => [status, describeProblems('', cases)]));
}

function describeProblems(head: string, cases: ErrorCases): ZodOpenApiResponseObject {
  const codes = Object.keys(cases) as ProblemCode[];
  const lines = codes.map((code) => `- \`${code}\`: ${cases[code]?.cause} ${cases[code]?.remedy}`);
  const canRetry = codes.some((code) => problemKinds[code].retryable);
  const headers: z.ZodObject = canRetry ? answerHeaders.extend(retryHeaders.shape) : answerHeaders;
  return {
    description: [head, lines.join('\n')].filter((text) => text !== '').join('\n\n'),
    headers,
    // Use one schema for all: a narrower one for each operation becomes its own class in generated clients.
    content: { 'application/problem+json': { schema: problem } },
    'x-codes': codes,
  };
}
