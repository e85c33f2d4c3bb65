import { randomInt } from 'node:crypto';
import type { Decision } from '@makerbook/domain';
import type { Query } from '@makerbook/postgres';
import { encodeHashes, encodeMakers } from './encode-columns.js';
import { budgetKey, type Group, type Reading } from './store.js';

type Charge = Extract<Decision, { kind: 'charge' }>;
type Place = Extract<Decision, { kind: 'place' }>;
type Mark = Extract<Decision, { kind: 'mark' }>;
type Of<D> = D & { readonly group: number; readonly requestId: string };

/** Versions are random, so none is used twice, even after a crash that empties the table. */
const VERSIONS = 2 ** 48 - 1;

/** See `ReadAndWrite`. Does not store a group that loses a race for a hash, or that has no decision left. */
export async function writeDecisions(query: Query, reading: Reading, groups: readonly Group[]): Promise<boolean[]> {
  try {
    const written = await write(query, reading, groups);
    return groups.map((_, group) => written.has(group));
  } catch (error) {
    if (!isRace(error)) throw error;
    if (groups.length === 1) return [false];
    const each: boolean[] = [];
    for (const group of groups) each.push(...(await writeDecisions(query, reading, [group])));
    return each;
  }
}

async function write(query: Query, reading: Reading, groups: readonly Group[]): Promise<ReadonlySet<number>> {
  const all = groups.flatMap((requests, group) =>
    requests.flatMap(({ requestId, decisions }) => decisions.map((decision) => ({ ...decision, group, requestId }))),
  );
  const of = <Kind extends Decision['kind']>(kind: Kind) =>
    all.filter((one): one is Of<Extract<Decision, { kind: Kind }>> => one.kind === kind);
  // The last charge of each budget includes those before it.
  const charges = [...new Map(of('charge').map((one) => [budgetKey(one.maker, one.of), one])).values()];
  const versionOf = ({ maker, of: which }: Charge) => reading.versions.get(budgetKey(maker, which));
  await createRows(
    query,
    charges.filter((one) => versionOf(one) === undefined),
  );
  const [placed, marked] = [of('place'), of('mark')];
  const replaced = marked.filter(({ onlyWith }) => onlyWith !== undefined);
  const steps = [
    ...(placed.length > 0 ? [trustStep(reading)] : []),
    ...(replaced.length > 0 ? [compareStep(replaced)] : []),
    chargeStep(charges, (one) => versionOf(one) ?? 0),
    ...(placed.length > 0 ? placeSteps(placed, reading) : []),
    ...(marked.length > 0 ? [markStep(marked)] : []),
  ];
  const name = `write ${steps.map((step) => step.name).join('')}`;
  const sql = statements.get(name) ?? compose(steps);
  statements.set(name, sql);
  const rows = await query<{ grp: number }>(
    sql,
    steps.flatMap(({ given }) => given),
    name,
  );
  return new Set(rows.map(({ grp }) => grp));
}

const statements = new Map<string, string>();

function compose(steps: readonly Step[]): string {
  const conditions = steps.flatMap(({ condition }) => (condition === undefined ? [] : [' and ', condition])).join('');
  let first = 1;
  const sqls = steps.map(({ sql, given }) => {
    first += given.length;
    return sql(first - given.length, conditions);
  });
  return `with ${sqls.join(',\n')}\nselect grp from granted`;
}

/** Creates missing rows. Leaves an existing row as it is: its version is not the one that was read. */
async function createRows(query: Query, charges: readonly Charge[]): Promise<void> {
  if (charges.length === 0) return;
  const sql = `insert into budgets (maker, of_cancels) select * from unnest($1::bytea[], $2::boolean[]) on conflict do nothing`;
  const sorted = charges.toSorted((a, b) => (a.maker < b.maker ? -1 : 1));
  const values = [encodeMakers(sorted), sorted.map(({ of }) => of === 'cancels')];
  await query(sql, values, 'create budgets');
}

interface Step {
  readonly name: string;
  readonly given: readonly unknown[];
  /** @param first the number of its first value */
  readonly sql: (first: number, conditions: string) => string;
  readonly condition?: string;
}

const inGranted = 'grp in (select grp from granted)';

/**
 * A group that does not get its locks at once was overtaken. So nobody waits for a lock, and there are no deadlocks.
 * `granted` are the groups that are written.
 */
function chargeStep(charges: readonly Of<Charge>[], versionOf: (charge: Charge) => number): Step {
  return {
    name: 'c',
    given: [
      encodeMakers(charges),
      charges.map(({ of }) => of === 'cancels'),
      charges.map(versionOf),
      charges.map(({ tokens }) => tokens.left),
      charges.map(({ tokens }) => tokens.atMs),
      charges.map(({ group }) => group),
      randomInt(1, VERSIONS),
    ],
    sql: (n, conditions) => `given as materialized (
      select * from unnest($${n}::bytea[], $${n + 1}::boolean[], $${n + 2}::bigint[], $${n + 3}::double precision[],
        $${n + 4}::bigint[], $${n + 5}::integer[]) as g (maker, of_cancels, version, tokens, at_ms, grp)),
    locked as materialized (
      select g.grp, b.version = g.version as is_same
      from given g join budgets b on b.maker = g.maker and b.of_cancels = g.of_cancels for update of b skip locked),
    granted as materialized (
      select a.grp from (select grp, count(*) as charges from given group by grp) as a
      where a.charges = (select count(*) from locked l where l.grp = a.grp and l.is_same)${conditions}),
    charged as (
      update budgets b set tokens = g.tokens, at_ms = g.at_ms, version = $${n + 6}::bigint from given g
      where b.maker = g.maker and b.of_cancels = g.of_cancels and g.${inGranted})`,
  };
}

/** Checks that nothing was lost since the read. */
function trustStep({ standing }: Reading): Step {
  return {
    name: 't',
    given: [standing.trustedSinceMs],
    sql: (n) => `same as materialized (select 1 as one from trusted where since_ms = $${n}::bigint)`,
    condition: 'exists (select from same)',
  };
}

/**
 * Replaces a note that does not refuse the order, if the note is as it was read. An order or a note that has come since
 * breaks the primary key, and nothing is written.
 */
function placeSteps(placed: readonly Of<Place>[], { standing }: Reading): Step[] {
  const notes = placed.flatMap(({ orderHash, group }) => {
    const untilMs = standing.hashes.get(orderHash)?.notedUntilMs;
    return untilMs === undefined ? [] : [{ orderHash, group, untilMs }];
  });
  const dropping: Step = {
    name: 'n',
    given: [encodeHashes(notes), notes.map(({ untilMs }) => untilMs), notes.map(({ group }) => group)],
    sql: (n) => `dropped as (
      delete from in_flight f using unnest($${n}::bytea[], $${n + 1}::bigint[], $${n + 2}::integer[]) as o (order_hash, until_ms, grp)
      where f.order_hash = o.order_hash and f.maker is null and f.until_ms = o.until_ms and o.${inGranted} returning 1)`,
  };
  const hasNotes = notes.length > 0;
  const sorted = placed.toSorted((a, b) => (a.orderHash < b.orderHash ? -1 : 1));
  const placing: Step = {
    name: 'p',
    given: [...keysOf(sorted), sorted.map(({ salt }) => salt), sorted.map(({ expiresAtSeconds }) => expiresAtSeconds)],
    sql: (n) => `placed as (
      insert into in_flight (order_hash, maker, partition, until_ms, request_id, salt, expires_at_seconds)
      select order_hash, maker, partition, until_ms, request_id, salt, expires_at_seconds
      from unnest(${keyParameters(n)}, $${n + 6}::text[], $${n + 7}::bigint[])
        as o (order_hash, maker, partition, until_ms, request_id, grp, salt, expires_at_seconds)
      where o.${inGranted}${hasNotes ? ' and (select count(*) from dropped) >= 0' : ''})`,
  };
  return [...(hasNotes ? [dropping] : []), placing];
}

function markStep(marked: readonly Of<Mark>[]): Step {
  return {
    name: 'm',
    given: [
      ...keysOf(marked),
      marked.map(({ instruction }) => (instruction === undefined ? null : JSON.stringify(instruction))),
    ],
    sql: (n) => `marked as (
      insert into cancelling (order_hash, maker, partition, until_ms, request_id, instruction)
      select order_hash, maker, partition, until_ms, request_id, instruction
      from unnest(${keyParameters(n)}, $${n + 6}::jsonb[])
        as c (order_hash, maker, partition, until_ms, request_id, grp, instruction)
      where c.${inGranted})`,
  };
}

/** Checks that what is replaced is as it was read: open with as much left, or in flight. */
function compareStep(replaced: readonly Of<Mark>[]): Step {
  return {
    name: 'r',
    given: [
      encodeHashes(replaced),
      replaced.map(({ onlyWith }) => (onlyWith === 'in flight' ? null : String(onlyWith))),
      replaced.map(({ group }) => group),
    ],
    condition: 'a.grp not in (select grp from changed)',
    sql: (n) => `changed as materialized (
      select e.grp from unnest($${n}::bytea[], $${n + 1}::numeric[], $${n + 2}::integer[]) as e (order_hash, remaining, grp)
        left join orders o on o.order_hash = e.order_hash
        left join in_flight f on f.order_hash = e.order_hash and f.maker is not null
      where case when e.remaining is null then f.order_hash is null else o.remaining is distinct from e.remaining end)`,
  };
}

function keysOf(all: readonly Of<Place | Mark>[]): unknown[] {
  return [
    encodeHashes(all),
    encodeMakers(all),
    all.map(({ partition }) => partition),
    all.map(({ untilMs }) => untilMs),
    all.map(({ requestId }) => requestId),
    all.map(({ group }) => group),
  ];
}

function keyParameters(n: number): string {
  return ['bytea', 'bytea', 'integer', 'bigint', 'text', 'integer']
    .map((type, at) => `$${n + at}::${type}[]`)
    .join(', ');
}

/** True if another process has placed or noted one of the hashes since they were read. */
function isRace(error: unknown): boolean {
  const { code } = ((error as Error).cause ?? {}) as { code?: string };
  return code === '23505' || code === '40P01';
}
