import { z } from 'zod';

/** A field of a schema, for a row of a table. */
export interface Field {
  /** A path such as `order.making.token`. The items of a list have `[]`. */
  readonly name: string;
  readonly isRequired: boolean;
  readonly description: string;
  readonly example: unknown;
}

type Leaf = '$ref' | 'description' | 'examples' | 'const' | 'enum' | 'required';
interface JsonSchema extends Pick<z.core.JSONSchema.BaseSchema, Leaf> {
  readonly type?: string;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly items?: JsonSchema;
  readonly anyOf?: readonly JsonSchema[];
  readonly $defs?: Readonly<Record<string, JsonSchema>>;
}

/** The fields of a schema, depth first. @param io `input` if the service receives it, `output` if it answers it */
export function describeFields(schema: z.ZodType, io: 'input' | 'output'): Field[] {
  const root = z.toJSONSchema(schema, { unrepresentable: 'any', io }) as JsonSchema;
  return fieldsOf(root, '', root.$defs ?? {});
}

function fieldsOf(given: JsonSchema, prefix: string, named: Readonly<Record<string, JsonSchema>>): Field[] {
  const schema = resolve(given, named);
  if (schema.items !== undefined) return fieldsOf(schema.items, `${prefix}[]`, named);
  // The value has one of these forms: list the fields of each.
  if (schema.anyOf !== undefined) return schema.anyOf.flatMap((form) => fieldsOf(form, prefix, named));
  return Object.entries(schema.properties ?? {}).flatMap(([key, property]) => {
    const name = prefix === '' ? key : `${prefix}.${key}`;
    const inner = resolve(property, named);
    const described = property.description ?? inner.description;
    const within = fieldsOf(inner, name, named);
    // An object without a description needs no row: its fields say enough.
    if (described === undefined && within.length > 0) return within;
    const isRequired = schema.required?.includes(key) === true;
    const description = described ?? wordsOf(inner);
    return [{ name, isRequired, description, example: property.examples?.[0] }, ...within];
  });
}

function resolve(schema: JsonSchema, named: Readonly<Record<string, JsonSchema>>): JsonSchema {
  const name = schema.$ref?.replace('#/$defs/', '');
  return name === undefined ? schema : { ...named[name], ...schema };
}

function wordsOf(schema: JsonSchema): string {
  if (schema.enum !== undefined) return schema.enum.map((value) => `\`${String(value)}\``).join(', ');
  return schema.const === undefined ? (schema.type ?? '') : `\`${String(schema.const)}\``;
}
