import { encodeArray, encodings, type Kind, type Values } from './binary-array.js';

interface Column {
  readonly field: string;
  readonly column: string;
  readonly kind: Kind;
}

/** The kinds of a row's columns, keyed by field. With `?` a column may be null. */
export type Columns = Readonly<Record<string, Kind | `${Kind}?`>>;

type Base<K> = K extends `${infer Known}?` ? Known : K;

/** A row with these columns. */
export type RowOf<C extends Columns> = {
  readonly [Field in keyof C]: Values[Base<C[Field]> & Kind] | (C[Field] extends Kind ? never : null);
};

export type InPartition<Row> = Row & { readonly partition: number };

/** Rows of several partitions. */
export interface RowsOfPartitions<Row> {
  readonly rows: readonly Row[];
  /** The partition of each row. */
  readonly partitions: readonly number[];
}

/** How the fields of a row are stored: `orderHash: 'bytea'` is the column `order_hash`. */
export class RowShape<Row extends object> {
  /** The columns as SQL lists them: `order_hash, maker`. */
  readonly list: string;
  readonly #columns: readonly Column[];
  readonly #kinds: Readonly<Record<keyof Row & string, Kind | `${Kind}?`>>;
  #inPartition: RowShape<InPartition<Row>> | undefined;

  constructor(kinds: Readonly<Record<keyof Row & string, Kind | `${Kind}?`>>) {
    this.#kinds = kinds;
    this.#columns = Object.entries<string>(kinds).map(([field, kind]) => {
      const column = field.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
      return { field, column, kind: kind.replace('?', '') as Kind };
    });
    this.list = this.#columns.map(({ column }) => column).join(', ');
  }

  /** The same rows with their partition. */
  get inPartition(): RowShape<InPartition<Row>> {
    const kinds = { ...this.#kinds, partition: 'integer' } as Record<keyof InPartition<Row> & string, Kind>;
    this.#inPartition ??= new RowShape<InPartition<Row>>(kinds);
    return this.#inPartition;
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

  /** The rows as parameters, an array for each column, to be read by `given`. */
  toArrays(rows: readonly Row[]): Buffer[] {
    return this.#columns.map(({ field, kind }) => {
      const values = rows.map((row) => (row as Record<string, unknown>)[field]);
      return encodeArray(kind, kind === 'jsonb' ? values.map((value) => value && JSON.stringify(value)) : values);
    });
  }

  /** The parameters of `inPartition`, without a copy of each row. */
  toArraysWithPartition({ rows, partitions }: RowsOfPartitions<Row>): Buffer[] {
    return [...this.toArrays(rows), encodeArray('integer', partitions)];
  }

  /**
   * The rows of these parameters, as a table with the name `given`.
   * @param first the number of the first parameter
   */
  given(first: number): string {
    const arrays = this.#columns.map(({ kind }, index) => `$${first + index}::${encodings[kind].type}[]`);
    const values = this.#columns.map(({ column, kind }) => (isCast(kind) ? `${column}::${kind}` : column));
    return `(select ${values} from unnest(${arrays}) as sent (${this.list})) as given (${this.list})`;
  }

  /** Assigns all columns except some: `remaining = given.remaining, status = given.status`. */
  assignments(from: string, except: readonly string[]): string {
    const columns = this.#columns.filter(({ column }) => !except.includes(column));
    return columns.map(({ column }) => `${column} = ${from}.${column}`).join(', ');
  }
}

function isCast(kind: Kind): boolean {
  return kind === 'numeric' || kind === 'jsonb';
}
