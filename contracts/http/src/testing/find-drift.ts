import { readFileSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';

/** A request and its answer, as they went over the wire. */
export interface Exchange {
  readonly method: string;
  readonly url: URL;
  readonly requestHeaders: Headers;
  /** Undefined if the request has no body. */
  readonly requestBody: string | undefined;
  readonly status: number;
  readonly answerHeaders: Headers;
  readonly answerBody: string;
}

interface Parameter {
  readonly in: 'path' | 'query' | 'header';
  readonly name: string;
  readonly required?: boolean;
  readonly schema: { readonly type?: string };
}

interface Response {
  readonly $ref?: string;
  readonly headers?: Readonly<Record<string, unknown>>;
  readonly content?: Readonly<Record<string, unknown>>;
  /** The codes of a problem. */
  readonly 'x-codes'?: readonly string[];
}

interface Operation {
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: object;
  readonly responses: Readonly<Record<string, Response>>;
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: {
    readonly headers: Readonly<
      Record<string, { readonly required?: boolean; readonly schema: { readonly type?: string } }>
    >;
  };
}

const document = JSON.parse(readFileSync(new URL('../../openapi.json', import.meta.url), 'utf8')) as Document;
const ajv = new Ajv2020({ strict: false });
ajv.addSchema(document, 'openapi');

/**
 * Compares an exchange with the published openapi.json.
 * @returns each difference: in the answer, or in a request that it does not allow although the answer was 200
 */
export function findDrift(exchange: Exchange): string[] {
  const { method, url, status } = exchange;
  if (method === 'OPTIONS') return [];
  // The answer to a HEAD is that to a GET, without the body.
  const name = method === 'HEAD' ? 'get' : method.toLowerCase();
  const path = pathOf(url);
  const operation = document.paths[path]?.[name];
  const pointer = `#/paths/${path.replaceAll('/', '~1')}/${name}`;
  if (operation === undefined) return findAnswerDrift(exchange, '#/components/responses/AnyRequest');
  const key = operation.responses[status] === undefined ? 'default' : status;
  const answer = operation.responses[key]?.$ref ?? `${pointer}/responses/${key}`;
  return [
    ...(status === 200 ? findRequestDrift(exchange, operation, pointer) : []),
    ...findAnswerDrift(exchange, answer),
  ];
}

/** The path of the document that the URL belongs to. */
function pathOf({ pathname }: URL): string {
  if (document.paths[pathname] !== undefined) return pathname;
  return Object.keys(document.paths).find((path) => readNames(path, pathname) !== undefined) ?? pathname;
}

/** The values of the `{names}` of a path in the path of a request; undefined if it does not match. */
function readNames(path: string, pathname: string): Readonly<Record<string, string>> | undefined {
  return new RegExp(`^${path.replaceAll(/\{(\w+)\}/g, '(?<$1>[^/]+)')}$`).exec(pathname)?.groups;
}

function findRequestDrift(exchange: Exchange, operation: Operation, pointer: string): string[] {
  const { url, requestHeaders, requestBody } = exchange;
  const textOf = ({ in: place, name }: Parameter) => {
    if (place === 'path') return readNames(pathOf(url), url.pathname)?.[name] ?? null;
    return place === 'query' ? url.searchParams.get(name) : requestHeaders.get(name);
  };
  const drift = (operation.parameters ?? []).flatMap((parameter, index) => {
    const { name, required = false, schema } = parameter;
    const value = textOf(parameter);
    if (value === null) return required ? [`the ${parameter.in} has no ${name}`] : [];
    return findFaults(`${pointer}/parameters/${index}/schema`, parse(value, schema.type), name);
  });
  if (operation.requestBody === undefined) return drift;
  const schema = `${pointer}/requestBody/content/application~1json/schema`;
  return [...drift, ...findFaults(schema, parseJson(requestBody ?? ''), 'the body')];
}

function findAnswerDrift({ method, status, answerHeaders, answerBody }: Exchange, pointer: string): string[] {
  const { headers = {}, content = {}, 'x-codes': codes } = lookUp(pointer) as Response;
  const drift = Object.keys(headers).flatMap((name) => {
    const value = answerHeaders.get(name);
    const { required = false, schema = {} } = document.components.headers[name] ?? {};
    if (value === null) return required ? [`the answer has no ${name}`] : [];
    return findFaults(`#/components/headers/${name}/schema`, parse(value, schema.type), name);
  });
  if (method === 'HEAD' || Object.keys(content).length === 0)
    return answerBody === '' ? drift : [...drift, `answer ${status}: the body is not empty`];
  const [type = ''] = (answerHeaders.get('content-type') ?? '').split(';', 1);
  if (content[type] === undefined) return [...drift, `an answer ${status} of the type "${type}" is not described`];
  const schema = `${pointer}/content/${type.replaceAll('/', '~1')}/schema`;
  const body = /[/+]json$/.test(type) ? parseJson(answerBody) : answerBody;
  const code = (body as { readonly code?: string } | null | undefined)?.code ?? '';
  if (codes !== undefined && !codes.includes(code)) drift.push(`answer ${status}: the code "${code}" is not described`);
  return [...drift, ...findFaults(schema, body, `answer ${status}`)];
}

function findFaults(pointer: string, value: unknown, what: string): string[] {
  const validate = ajv.getSchema(`openapi${pointer}`);
  if (validate === undefined) throw new Error(`openapi.json has no ${pointer}`);
  return validate(value) ? [] : [`${what}: ${ajv.errorsText(validate.errors, { dataVar: '' })}`];
}

function lookUp(pointer: string): unknown {
  return pointer
    .split('/')
    .slice(1)
    .reduce<unknown>((at, name) => (at as Record<string, unknown>)[name.replaceAll('~1', '/')], document);
}

/** Parses a parameter or header into the value that its schema describes. */
function parse(text: string, type: string | undefined): unknown {
  if (type === 'array') return text.split(',');
  return type === 'integer' && /^-?[0-9]+$/.test(text) ? Number(text) : text;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
