import type { Hex } from '@makerbook/contracts-primitives';
import { createRoles, testParts } from '@makerbook/parts';
import { byteaOf, connectPostgres, type Postgres, type PostgresOptions } from '../connect-postgres.js';
import { rights, roleOf } from '../grant-rights.js';
import { migrate } from '../migrate.js';

const SLOW = { connectTimeoutMs: 60_000, statementTimeoutMs: 60_000 };
const BYTES = ['order_hash', 'maker', 'making_token'];

export interface TestDatabase {
  /** Connected as the owner of the tables. */
  readonly owner: Postgres;
  /** Connected as the service, with the rights of its role alone. */
  readonly postgres: Postgres;
  close(): Promise<void>;
}

/** Opens a database for one live test file, with the tables of the read model and with generous time limits. */
export async function openTestDatabase(service: string, options: Partial<PostgresOptions> = {}): Promise<TestDatabase> {
  const url = await testParts().databaseUrl();
  const urls = await createRoles(url, Object.keys(rights));
  await migrate({ url, ...SLOW });
  const owner = connectPostgres({ url, ...SLOW });
  const postgres = connectPostgres({ url: urls[roleOf(service)] ?? '', ...SLOW, ...options });
  const close = async () => {
    await postgres.close();
    await owner.close();
  };
  return { owner, postgres, close };
}

export function addressOf(number: number): Hex {
  return `0x${number.toString(16).padStart(40, '0')}`;
}

export function hashOf(number: number): Hex {
  return `0x${number.toString(16).padStart(64, '0')}`;
}

/** The values of a row that a test does not give. */
const usual = {
  makers: { partition: 3, admission: 'ADMITTED' },
  orders: {
    partition: 3,
    accepted_at_ms: 1,
    making_token: addressOf(0xcc),
    making_amount: 1,
    remaining: 1,
    is_observed: true,
    in_book: true,
    status: 'ACTIVE',
  },
  order_history: { partition: 3, status: 'ACTIVE', remaining: 9 },
  fills: { partition: 3, block_number: 7 },
  hashes: { partition: 3, state: 'ACCEPTED', nonce: 0, expires_at_seconds: 9 },
  in_flight: { partition: 3, salt: '0x1', expires_at_seconds: 9, until_ms: 5 },
  cancelling: { partition: 3, until_ms: 5 },
};

/** Inserts a row. Hashes and addresses are hex. */
export async function insertRow(
  postgres: Postgres,
  table: keyof typeof usual,
  given: Readonly<Record<string, unknown>>,
): Promise<void> {
  const row = Object.entries({ ...usual[table], ...given });
  const columns = row.map(([column]) => column);
  const places = row.map((_, index) => `$${index + 1}`);
  const values = row.map(([column, value]) => (BYTES.includes(column) ? byteaOf(value as Hex) : value));
  await postgres.query(`insert into ${table} (${columns}) values (${places})`, values);
}
