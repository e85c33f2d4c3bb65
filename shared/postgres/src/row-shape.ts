import type { Hex } from '@makerbook/contracts-primitives';
import { byteaOf } from './connect-postgres.js';

/** The type of a column. `number` is bigint in Postgres, and a number here; an amount is numeric, and a decimal string here. */
type Kind = 'bytea' | 'bigint' | 'number' | 'integer' | 'numeric' | 'text' | 'boolean' | 'jsonb';

interface Column {
  readonly field: string;
  readonly column: string;
  readonly kind: Kind;
}

/** How the fields of a row are stored: `orderHash: 'bytea'` is the column `order_hash`. */
export class RowShape<Row extends object> {
  /** `order_hash, maker` */
  readonly list: string;
  readonly #columns: readonly Column[];

  constructor(kinds: Readonly<Record<keyof Row & string, Kind>>) {
    this.#columns = Object.entries<Kind>(kinds).map(([field, kind]) => {
      return { field, column: field.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`), kind };
    });
    this.list = this.#columns.map(({ column }) => column).join(', ');
  }

  /** @param row as Postgres gives it */
  read(row: object): Row {
    const stored = row as Record<string, unknown>;
    const read: Record<string, unknown> = {};
    for (const { field, column, kind } of this.#columns) {
      const value = stored[column];
      read[field] = kind === 'number' && value !== null ? Number(value) : value;
    }
    return read as Row;
  }

  /** The rows as one JSON parameter, to be read by `given`. */
  toJson(rows: readonly Row[]): string {
    return JSON.stringify(rows.map((row) => this.#toJson(row as Record<string, unknown>)));
  }

  /** The rows of a JSON parameter, as a table with the name `given`. */
  given(parameter: string): string {
    const columns = this.#columns.map(({ column, kind }) => `${column} ${kind === 'number' ? 'bigint' : kind}`);
    return `json_to_recordset(${parameter}) as given (${columns.join(', ')})`;
  }

  /** `remaining = given.remaining, status = given.status`: of all columns but some. */
  assignments(from: string, except: readonly string[]): string {
    const columns = this.#columns.filter(({ column }) => !except.includes(column));
    return columns.map(({ column }) => `${column} = ${from}.${column}`).join(', ');
  }

  #toJson(row: Record<string, unknown>): object {
    const json: Record<string, unknown> = {};
    for (const { field, column, kind } of this.#columns) {
      const value = row[field];
      json[column] = kind === 'bytea' ? byteaOf(value as Hex) : typeof value === 'bigint' ? String(value) : value;
    }
    return json;
  }
}
