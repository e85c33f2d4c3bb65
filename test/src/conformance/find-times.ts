/** A part of a JSON schema, as in OpenAPI. */
export interface Schema {
  readonly $ref?: string;
  readonly type?: string;
  readonly description?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly 'x-unit'?: 'seconds' | 'milliseconds';
  readonly 'x-preferences'?: Readonly<Record<string, Schema>>;
}

interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required?: boolean;
  readonly schema: Schema & { readonly examples?: readonly unknown[] };
}

interface Operation {
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { schema: Schema; example: unknown }>> };
}

export interface OpenApi {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

/** A field of a request, with its operation. */
export interface Field {
  /** For example `post /v0alpha/limit-orders/heartbeat body /cancelAt`. */
  readonly name: string;
  readonly method: string;
  readonly path: string;
  readonly operation: Operation;
  readonly in: 'body' | Parameter['in'];
  /** The field's name in a refusal. */
  readonly pointer: string;
  readonly schema: Schema;
  /** The name of the preference, if the field is one in the header `Prefer`. */
  readonly preference?: string;
}

/** Every field of every request, in bodies at any depth. The first item of a list stands for all. */
export function fieldsOf(document: OpenApi): Field[] {
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, operation]) => {
      const field = (place: Field['in'], pointer: string, schema: Schema, more = {}): Field => {
        return {
          name: `${method} ${path} ${place} ${pointer}`,
          method,
          path,
          operation,
          in: place,
          pointer,
          schema,
          ...more,
        };
      };
      const bodies = Object.values(operation.requestBody?.content ?? {}).flatMap(({ schema }) =>
        leavesOf(document, schema),
      );
      const parameters = (operation.parameters ?? []).flatMap(({ name, in: place, schema }) => [
        field(place, `/${name}`, schema),
        ...Object.entries(schema['x-preferences'] ?? {}).map(([preference, own]) =>
          field(place, `/${name}`, own, { preference, name: `${method} ${path} ${name}: ${preference}` }),
        ),
      ]);
      return [...bodies.map(([pointer, schema]) => field('body', pointer, schema)), ...parameters];
    }),
  );
}

function leavesOf(document: OpenApi, part: Schema, pointer = ''): [string, Schema][] {
  const named = part.$ref === undefined ? part : document.components.schemas[part.$ref.split('/').at(-1) ?? ''];
  const schema = { ...named, ...part };
  if (schema.items !== undefined) return leavesOf(document, schema.items, `${pointer}/0`);
  const fields = Object.entries(schema.properties ?? {});
  return fields.length === 0
    ? [[pointer, schema]]
    : fields.flatMap(([name, field]) => leavesOf(document, field, `${pointer}/${name}`));
}

/** Times with another kind of bound: an order's may be any uint256, and a signed GET gets 403 `request_expired`. */
const isFree = ({ in: place, pointer }: Field) =>
  pointer.endsWith('/expiresAt') || (place === 'query' && pointer === '/issuedAt');

const isTimely = ({ pointer, schema }: Field) =>
  /(At|Ms|Until|Until-Ms|Seconds|Time|Duration)$/.test(pointer) ||
  /seconds\b|since 1970/.test(schema.description ?? '');

/** Names the fields that lack a least or a greatest value, and the times and durations that lack a unit. */
export function unbounded(document: OpenApi): string[] {
  return fieldsOf(document)
    .filter((field) => !isFree(field))
    .flatMap((field) => {
      const { name, schema } = field;
      const hasUnit = schema['x-unit'] !== undefined || schema['x-preferences'] !== undefined;
      const isBounded = schema.minimum !== undefined && schema.maximum !== undefined;
      const lacksBound = (schema.type === 'integer' || schema['x-unit'] !== undefined) && !isBounded;
      return [
        ...(lacksBound ? [`${name} has no bounds`] : []),
        ...(isTimely(field) && !hasUnit ? [`${name} has no unit`] : []),
      ];
    });
}

export interface Wrong {
  readonly when: string;
  readonly value: number;
  /** The unit that the value looks like. */
  readonly looksLike?: string;
}

/** Values that are not a time or a duration in the unit of a field. */
export function wrongValuesOf({ schema }: Field, nowMs: number): Wrong[] {
  const { 'x-unit': unit, minimum = 0, maximum = 0 } = schema;
  const isMoment = maximum > nowMs / 1000;
  const inOther: Wrong = isMoment
    ? unit === 'seconds'
      ? { when: 'milliseconds', value: nowMs, looksLike: 'milliseconds' }
      : { when: 'seconds', value: Math.floor(nowMs / 1000), looksLike: 'seconds' }
    : { when: 'milliseconds', value: maximum * 1000 };
  return [
    inOther,
    ...(minimum === 0 ? [] : [{ when: '0', value: 0 }]),
    ...(isMoment && minimum === 0 ? [{ when: '1', value: 1 }] : []),
    { when: '-1', value: -1 },
    { when: 'a half', value: 1.5 },
    { when: '2^53', value: 2 ** 53 },
    { when: 'one more than the greatest', value: maximum + 1 },
  ];
}

/** The example of the operation with another value in the field. */
export function requestWith(field: Field, value: unknown) {
  const { method, path, operation, preference } = field;
  const example = Object.values(operation.requestBody?.content ?? {})[0]?.example;
  const query = new URLSearchParams();
  const headers: Record<string, string> = example === undefined ? {} : { 'Content-Type': 'application/json' };
  let target = path;
  for (const { name, in: place, required, schema } of operation.parameters ?? []) {
    const isField = field.in === place && field.pointer === `/${name}`;
    if (!isField && !required) continue;
    const own = preference === undefined ? value : `${preference}=${value}`;
    const text = String(isField ? own : schema.examples?.[0]);
    if (place === 'query') query.set(name, text);
    else if (place === 'header') headers[name] = text;
    else target = target.replace(`{${name}}`, text);
  }
  const body = field.in === 'body' ? replaceAt(example, field.pointer.slice(1).split('/'), value) : example;
  const search = query.size === 0 ? '' : `?${query}`;
  const sent = { method: method.toUpperCase(), target: `${target}${search}`, headers };
  return body === undefined ? sent : { ...sent, body: JSON.stringify(body) };
}

function replaceAt(whole: unknown, [name = '', ...rest]: readonly string[], value: unknown): unknown {
  // An example leaves optional lists out.
  const given = whole ?? (/^[0-9]+$/.test(name) ? [undefined] : {});
  const inner = (given as Record<string, unknown>)[name];
  const next = rest.length === 0 ? value : replaceAt(inner, rest, value);
  if (Array.isArray(given)) return given.map((item, index) => (String(index) === name ? next : item));
  return { ...(given as object), [name]: next };
}
