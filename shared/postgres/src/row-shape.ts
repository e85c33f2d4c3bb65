import { encodeArray, encodings, type Kind } from './binary-array.js';

interface Column {
  readonly field: string;
  readonly column: string;
  readonly kind: Kind;
}

export type InPartition<Row> = Row & { readonly partition: number };

/** How the fields of a row are stored: `orderHash: 'bytea'` is the column `order_hash`. */
export class RowShape<Row extends object> {
  /** `order_hash, maker` */
  readonly list: string;
  readonly #columns: readonly Column[];
  readonly #kinds: Readonly<Record<keyof Row & string, Kind>>;
  #inPartition: RowShape<InPartition<Row>> | undefined;

  constructor(kinds: Readonly<Record<keyof Row & string, Kind>>) {
    this.#kinds = kinds;
    this.#columns = Object.entries<Kind>(kinds).map(([field, kind]) => {
      return { field, column: field.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`), kind };
    });
    this.list = this.#columns.map(({ column }) => column).join(', ');
  }

  /** The same rows with their partition. */
  get inPartition(): RowShape<InPartition<Row>> {
    type Kinds = Record<keyof InPartition<Row> & string, Kind>;
    this.#inPartition ??= new RowShape<InPartition<Row>>({ ...this.#kinds, partition: 'integer' } as Kinds);
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

  /**
   * The rows of such parameters, as a table with the name `given`.
   * @param first the number of the first parameter
   */
  given(first: number): string {
    const arrays = this.#columns.map(({ kind }, index) => `$${first + index}::${encodings[kind].type}[]`);
    const values = this.#columns.map(({ column, kind }) => (isCast(kind) ? `${column}::${kind}` : column));
    return `(select ${values} from unnest(${arrays}) as sent (${this.list})) as given (${this.list})`;
  }

  /** `remaining = given.remaining, status = given.status`: of all columns but some. */
  assignments(from: string, except: readonly string[]): string {
    const columns = this.#columns.filter(({ column }) => !except.includes(column));
    return columns.map(({ column }) => `${column} = ${from}.${column}`).join(', ');
  }
}

function isCast(kind: Kind): boolean {
  return kind === 'numeric' || kind === 'jsonb';
}
