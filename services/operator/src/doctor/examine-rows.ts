import { compareRights, type Postgres, readPartitionClocks, SchemaMismatch, verifySchema } from '@makerbook/postgres';
import { readServer } from '../store/read-server.js';
import { alert, CLOCKS_APART_MS_MAX, type Finding, judge, lookAll, mismatchOf } from './finding.js';

/** The limit of the alert ReadModelBehind. */
const BEHIND_SECONDS_MAX = 30;
const VERSION_MIN = 150_000;

/**
 * Checks schema, rights, version and clock of Postgres, and its rows' positions. @param readEnds reads the log's ends
 */
export async function examineRows(
  postgres: Postgres,
  nowMs: () => number,
  readEnds: () => Promise<readonly bigint[]>,
): Promise<readonly Finding[]> {
  const server = async (): Promise<Finding[]> => {
    const beforeMs = nowMs();
    const { version = '', versionNumber = 0, ms = 0 } = (await readServer(postgres)) ?? {};
    const apartMs = Math.round(Math.max(beforeMs - ms, ms - nowMs(), 0));
    return [
      judge(versionNumber >= VERSION_MIN, `version of Postgres: ${version}`, 'deploy/README.md#versions'),
      judge(
        apartMs <= CLOCKS_APART_MS_MAX,
        `clock of Postgres: ${apartMs} ms from this machine's`,
        'deploy/runbooks/before-production.md',
      ),
    ];
  };
  const schema = async (): Promise<Finding[]> => {
    const wrong = await mismatchOf(verifySchema(postgres), SchemaMismatch);
    return [
      judge(wrong === undefined, `schema: ${wrong ?? 'that of this build'}`, 'deploy/runbooks/operations.md#upgrade'),
    ];
  };
  const rights = async (): Promise<Finding[]> => {
    const { roles, differences } = await compareRights(postgres);
    const well = roles.length === 0 ? 'no service has a role of its own' : `${roles.length} roles have only their own`;
    const what = `rights: ${differences.join('; ') || well}`;
    return [judge(differences.length === 0, what, 'shared/postgres/README.md#rights')];
  };
  const positions = () => examinePositions(postgres, nowMs, readEnds);
  return lookAll('Postgres', alert('PostgresAway'), [server, schema, rights, positions]);
}

async function examinePositions(
  postgres: Postgres,
  nowMs: () => number,
  readEnds: () => Promise<readonly bigint[]>,
): Promise<Finding[]> {
  const clocks = await readPartitionClocks(postgres);
  // Read the ends after the rows, so that a growing log is never behind them.
  const ends = await readEnds().catch(() => undefined);
  if (ends === undefined) return [{ verdict: 'unread', what: 'lag of the rows: Kafka does not answer' }];
  const behind = ends.map((end, partition) => {
    const position = clocks.find((clock) => clock.partition === partition)?.nextOffset ?? 0n;
    return end - position;
  });
  const [oldest] = clocks.flatMap(({ block }) => block ?? []).sort((a, b) => a.timestamp - b.timestamp);
  const lost = behind.flatMap((facts, partition) =>
    facts < 0n ? [`the rows of partition ${partition} are ${-facts} facts ahead of the log`] : [],
  );
  const waiting = behind.reduce((sum, facts) => sum + facts, 0n);
  const seconds = oldest === undefined ? 0 : Math.round(nowMs() / 1000 - oldest.timestamp);
  const age = oldest === undefined ? 'no block yet' : `block ${oldest.number}, ${seconds} s old`;
  return [
    judge(
      lost.length === 0,
      `positions: ${lost.join('; ') || 'the log reaches them'}`,
      'deploy/runbooks/operations.md#postgres-is-restored',
    ),
    judge(
      waiting <= 0n || seconds <= BEHIND_SECONDS_MAX,
      `lag of the rows: ${waiting} facts; ${age}`,
      alert('ReadModelBehind'),
    ),
  ];
}
