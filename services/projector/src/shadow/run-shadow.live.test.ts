import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { MakerEvent, MakerFact } from '@makerbook/contracts-events';
import { MakerDraft } from '@makerbook/domain';
import type { Appender, LogRecord } from '@makerbook/kafka';
import { replaceMethod, until } from '@makerbook/parts';
import { readSettings } from '@makerbook/settings';
import { type Logger, silentLogger, startTelemetry } from '@makerbook/telemetry';
import { projectorSettings, rebuildSettings } from '../env.js';
import { FactFeed } from '../fold/describe-feeds.js';
import { verifyReadModel } from '../rebuild/rebuild-read-model.js';
import { type RunningProjector, runProjector } from '../run.js';
import { busyBlock, makersOf, storedRecord } from '../testing/generate-facts.js';
import { deploy, testPartition as partition, type TestDeployment, testPartitions } from '../testing/test-projection.js';

const BLOCK_MS = 50;
const makers = makersOf(partition, testPartitions, 40);
const telemetry = startTelemetry('projector', { LOG_LEVEL: 'error' });

let here: TestDeployment;
let appender: Appender;
let isLoaded: boolean;
let load: Promise<void>;
let owner: ChildProcess;
let shadow: RunningProjector | undefined;
let errors: unknown[][];
let warnings: unknown[][];
let takeOut: () => void;

beforeEach(async () => {
  here = await deploy();
  appender = here.log.createAppender({ timeoutMs: 60_000 });
  errors = [];
  warnings = [];
  takeOut = () => undefined;
  isLoaded = true;
  load = appendBlocks();
  owner = startOwner();
  // The shadow begins with rows that hold something.
  await until(async () => (await here.position()) > 500n);
});
afterEach(async () => {
  takeOut();
  owner.kill('SIGKILL');
  isLoaded = false;
  await load;
  await shadow?.stop();
  shadow = undefined;
  await here.stop();
});

function startOwner(): ChildProcess {
  return spawn(process.execPath, [new URL('../main.js', import.meta.url).pathname], {
    env: { ...process.env, ...here.environment },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
}

/** A busy block in the one partition, and a block in each of the others, again and again. */
async function appendBlocks(): Promise<void> {
  for (let number = 1; isLoaded; number += 1) {
    await Promise.all(
      Array.from({ length: testPartitions }, (_, at) => {
        const facts = busyBlock(at === partition ? makers : [], number);
        return appender.append(facts.map((fact) => recordOf(fact, at)));
      }),
    );
    await pause(BLOCK_MS);
  }
}

function recordOf(fact: MakerEvent, at: number): LogRecord {
  const { key, value, headers } = storedRecord(fact, { partition: at, offset: 0n });
  return { topic: here.topics.makerEvents, partition: at, key, value, headers };
}

async function startShadow(blocks: number): Promise<void> {
  const logger: Logger = {
    ...silentLogger,
    warn: (...given: unknown[]) => void warnings.push(given),
    error: (...given: unknown[]) => void errors.push(given),
  };
  const settings = { ...here.environment, SHADOW: 'true', SHADOW_BLOCKS: String(blocks) };
  shadow = await runProjector(readSettings(projectorSettings, settings), { ...telemetry, logger });
}

async function ask(path: string) {
  const answer = await fetch(`http://127.0.0.1:${shadow?.opsPort}${path}`);
  return { status: answer.status, text: await answer.text() };
}

interface Claimant {
  readonly holder: string;
  readonly partitions: bigint;
  /** It has not been seen for some time. */
  readonly is_gone: boolean;
}

async function claimants(): Promise<readonly Claimant[]> {
  return here.postgres.query<Claimant>(
    `select holder, (select count(*) from claims where claims.holder = claimants.holder) as partitions,
       seen_at < now() - interval '5 seconds' as is_gone
     from claimants order by seen_at`,
  );
}

/** What this process has published and taken, as far as it is an ordinary projector. */
async function told(): Promise<readonly string[]> {
  return (await ask('/metrics')).text.match(/^projector_(feed_messages|partitions_taken)_total.*$/gm) ?? [];
}

async function untilOwned(): Promise<void> {
  const isOwner = ({ partitions, is_gone }: Claimant) => partitions === BigInt(testPartitions) && !is_gone;
  await until(async () => (await claimants()).some(isOwner));
  const position = await here.position();
  await until(async () => (await here.position()) > position + 100n);
}

/** Ends the connection in which a shadow reads. @returns how many were found */
async function endTransaction(): Promise<number> {
  const sql = `select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and application_name = 'makerbook-projector' and state = 'idle in transaction'`;
  return (await here.postgres.query(sql)).length;
}

/** Each message is there once, and the book is what a replay leads to. */
async function expectRightFeed(): Promise<void> {
  isLoaded = false;
  await load;
  const ids = (await here.readFeed(here.topics.book)).map(({ headers }) => headers['ce_id']);
  expect(new Set(ids).size).toBe(ids.length);
  const settings = readSettings(rebuildSettings, here.environment);
  const options = { database: { url: here.databaseUrl }, log: here.log, settings, report: () => undefined };
  expect(await verifyReadModel(options)).toEqual([]);
}

describe('a shadow', () => {
  test('that makes what is on the feeds takes partitions from then on', async () => {
    await startShadow(30);
    await until(async () => /has compared [1-9]\d* of 30 blocks/.test((await ask('/readyz')).text));
    expect(await claimants()).toHaveLength(1);
    // A lost transaction has it begin anew.
    await until(async () => (await endTransaction()) > 0);
    expect((await ask('/readyz')).status).toBe(503);
    await until(async () => (await ask('/readyz')).status === 200);
    expect((await ask('/metrics')).text).toMatch(/^projector_shadow_messages_total\{result="same"\} \d{3,}$/m);
    expect((await ask('/metrics')).text).not.toMatch(/result="different"/);

    const exited = once(owner, 'exit');
    owner.kill('SIGTERM');
    await exited;
    await untilOwned();
    await expectRightFeed();
    expect(warnings).toEqual([[expect.anything(), 'the comparison with the feeds begins anew']]);
    expect(errors).toEqual([]);
  });

  type Apply = MakerDraft['apply'];
  const ignoreNonces = () =>
    replaceMethod(MakerDraft.prototype, 'apply', (before): Apply => {
      return function (this: MakerDraft, fact: MakerFact, ...rest) {
        if (fact.type !== 'MakerObserved' || this.nonce === undefined) return before.call(this, fact, ...rest);
        const { nonce, ...others } = fact;
        return before.call(this, others, ...rest);
      };
    });
  const dropTombstones = () => replaceMethod(FactFeed.prototype, 'withdraw', () => () => undefined);
  const changeField = () =>
    replaceMethod(FactFeed.prototype, 'transitions', (before): FactFeed['transitions'] => {
      return function (this: FactFeed, transitions, maker) {
        const later = transitions.map((one) =>
          'order' in one ? { ...one, order: { ...one.order, acceptedAtMs: one.order.acceptedAtMs + 1 } } : one,
        );
        before.call(this, later as typeof transitions, maker);
      };
    });

  test.each([
    ['ignores that a nonce has changed', ignoreNonces],
    ['drops the tombstones', dropTombstones],
    ['changes a field of the entries', changeField],
  ])('whose fold %s publishes nothing, and takes no partition of an owner that dies', async (_what, plant) => {
    takeOut = plant();
    await startShadow(1_000_000);
    const toldBefore = await told();
    const difference = new RegExp(
      `partition ${partition}: offset \\d+, message \\d+: the feed has .*, this build makes `,
    );
    await until(async () => difference.test((await ask('/readyz')).text));
    const exited = once(owner, 'exit');
    owner.kill('SIGKILL');
    await exited;
    // A projector takes what is left behind after two seconds.
    await until(async () => (await claimants())[0]?.is_gone === true);
    expect(await claimants()).toEqual([
      { holder: expect.any(String), partitions: BigInt(testPartitions), is_gone: true },
    ]);
    owner = startOwner();
    await untilOwned();
    expect(await told()).toEqual(toldBefore);
    expect((await ask('/readyz')).status).toBe(503);
    expect((await ask('/livez')).status).toBe(200);
    expect((await ask('/metrics')).text).toMatch(/^projector_shadow_messages_total\{result="different"\} [1-9]/m);
    expect(errors).toEqual([[expect.objectContaining({ partition }), expect.any(String)]]);
    takeOut();
    await expectRightFeed();
  });
});
