import { randomBytes } from 'node:crypto';
import { createDatabase } from '../create-database.js';

/** The variable in which the setup passes the addresses to the test files: JSON of {@link TestAddresses}. */
export const TEST_PARTS_VARIABLE = 'MAKERBOOK_TEST_PARTS';

export type TestAddresses = { readonly kafkaBrokers: string; readonly postgresUrl: string; readonly redisUrl: string };

export type TestParts = {
  /** `host:port` of the Kafka that all test files share: use topics and groups of your own. */
  readonly kafkaBrokers: string;
  /** `redis://…` of the Redis that all test files share: use a key prefix of your own. */
  readonly redisUrl: string;
  /** Creates an empty database and returns its URL. The name is random unless given. Keeps an existing database. */
  databaseUrl(name?: string): Promise<string>;
};

/**
 * Returns the parts that Jest's set-up has started for this run of live tests.
 * @throws Error outside such a run
 */
export function testParts(): TestParts {
  const json = process.env[TEST_PARTS_VARIABLE];
  if (json === undefined) throw new Error('no test parts: run this file in the jest project "live"');
  const addresses = JSON.parse(json) as TestAddresses;
  return {
    kafkaBrokers: addresses.kafkaBrokers,
    redisUrl: addresses.redisUrl,
    databaseUrl: (name = `test_${randomBytes(6).toString('hex')}`) => createDatabase(addresses.postgresUrl, name),
  };
}
