import {
  encodeMakerEvent,
  type MakerEvent,
  type MakerLimits,
  servicePartition,
  topicNames,
} from '@makerbook/contracts-events';
import { pause, unlessAway } from '@makerbook/contracts-primitives';
import { type Log, partitionOf } from '@makerbook/kafka';
import type { Outcome } from './outcome.js';
import type { Decision } from './parse-command.js';
import { readSuspended } from './read-history.js';
import { readMakers, type ShownMakers } from './read-makers.js';

const LOOK_INTERVAL_MS = 100;

export interface DecisionOptions {
  readonly prefix: string;
  readonly partitions: number;
  /** Names the command in its facts. */
  readonly commandId: string;
  /** The person who decides. */
  readonly by: string;
  readonly reason: string | undefined;
  readonly nowMs: number;
  readonly visibleWithinMs: number;
  /** How long after a restore of the log no orders are taken. */
  readonly holdMs: number;
}

/**
 * Writes the decision about each maker to the maker's own partition of the log, or the one about the service to its
 * partition. Waits until the projector has put it into `limit-orders.makers.v1`, where ingress and query see it. If
 * they do not see it in time, it is in the log all the same, and the exit code is 1.
 * @throws LogUnavailable
 */
export async function decide(log: Log, decision: Decision, options: DecisionOptions): Promise<Outcome> {
  let known: ShownMakers['makers'] = new Map();
  if (decision.do === 'set' || decision.do === 'suspend' || decision.do === 'remove') {
    known = (await readMakers(log, options.prefix)).makers;
    const strangers = decision.makers.filter((maker) => (known.get(maker)?.admission ?? 'UNKNOWN') === 'UNKNOWN');
    // A maker about whom nobody ever decided is a wrong address.
    const told = 'was never on the whitelist: add it first; nothing was written';
    if (strangers.length > 0) return { lines: strangers.map((maker) => `${maker} ${told}`), exitCode: 1 };
  }
  const steps = stepsOf(decision, known, options);
  if (decision.do === 'cancel-only' && decision.mode === 'NORMAL') {
    const { atMs, makers = [] } = (await readSuspended(log, options, options.nowMs)) ?? { atMs: 0 };
    const untilMs = (atMs ?? 0) + options.holdMs;
    if (atMs === undefined || options.nowMs < untilMs) {
      const until =
        atMs === undefined ? 'the projector has folded that, and then for a time' : new Date(untilMs).toISOString();
      const line = `the log was restored: makers repeat cancellations until ${until}; nothing was written`;
      return { lines: [line], exitCode: 1 };
    }
    steps.unshift(...stepsOf({ ...decision, do: 'add', makers }, known, options));
  }
  await appendFacts(log, steps, options);
  return awaitShown(log, steps, options);
}

/** A part of a decision: one fact. */
interface Step {
  readonly fact: MakerEvent;
  readonly name: string;
  readonly effect: string;
  /** True if the services see it. */
  readonly isShown: (shown: ShownMakers) => boolean;
}

const admissions = {
  add: { type: 'MakerAdmitted', admission: 'ADMITTED', word: 'admitted' },
  suspend: { type: 'MakerSuspended', admission: 'SUSPENDED', word: 'suspended' },
  remove: { type: 'MakerRemoved', admission: 'REMOVED', word: 'removed' },
} as const;

function stepsOf(decision: Decision, known: ShownMakers['makers'], options: DecisionOptions): Step[] {
  const { commandId, by, reason } = options;
  const cause = { kind: 'operator' as const, commandId, by, ...(reason === undefined ? {} : { reason }) };
  if (decision.do === 'cancel-only') {
    const { mode } = decision;
    const name = mode === 'CANCEL_ONLY' ? 'the service takes no new orders' : 'the service takes orders';
    const isShown = ({ service }: ShownMakers) => (service?.mode ?? 'NORMAL') === mode;
    return [{ fact: { type: 'ServiceModeSet', mode, cause }, name, effect: '', isShown }];
  }
  return decision.makers.map((maker): Step => {
    if (decision.do === 'release') {
      // No feed shows a release.
      const effect = ': release written to the log; it has worked when projector_quarantined_makers falls';
      return { fact: { type: 'QuarantineLifted', maker, cause }, name: maker, effect, isShown: () => true };
    }
    if (decision.do === 'set') {
      const limits = { ...(decision.isReset ? {} : known.get(maker)?.limits), ...decision.limits };
      const effect = describeLimits(limits);
      const isShown = ({ makers }: ShownMakers) => describeLimits(makers.get(maker)?.limits ?? {}) === effect;
      return { fact: { type: 'MakerLimitsSet', maker, limits, cause }, name: maker, effect: `: ${effect}`, isShown };
    }
    const { type, admission, word } = admissions[decision.do];
    const isShown = ({ makers }: ShownMakers) => makers.get(maker)?.admission === admission;
    return { fact: { type, maker, cause }, name: maker, effect: `: ${word}`, isShown };
  });
}

/** Describes a maker's own limits: `open orders 5000, 200 orders/s, burst 2000`. */
export function describeLimits({ openOrdersMax, ordersPerSecond, ordersBurst }: MakerLimits): string {
  const own: string[] = [];
  if (openOrdersMax !== undefined) own.push(`open orders ${openOrdersMax}`);
  if (ordersPerSecond !== undefined) own.push(`${ordersPerSecond} orders/s`);
  if (ordersBurst !== undefined) own.push(`burst ${ordersBurst}`);
  return own.length === 0 ? 'default limits' : own.join(', ');
}

async function appendFacts(
  log: Log,
  steps: readonly Step[],
  { prefix, partitions, commandId, nowMs }: DecisionOptions,
): Promise<void> {
  const appender = log.createAppender();
  const topic = topicNames(prefix).makerEvents;
  for (const [index, { fact }] of steps.entries()) {
    const context = { id: `${commandId}:${index}`, source: '/makerbook/operator', timeMs: nowMs };
    const { key, value, headers } = encodeMakerEvent(fact, context);
    const partition = key === null ? servicePartition : partitionOf(key, partitions);
    await appender.append([{ topic, partition, key: key ?? '', value, headers }]);
  }
  await appender.close();
}

/**
 * Waits until all steps are shown, or the time is over. Kafka may be down meanwhile: what was written stays written.
 */
async function awaitShown(
  log: Log,
  steps: readonly Step[],
  { prefix, visibleWithinMs }: DecisionOptions,
): Promise<Outcome> {
  const untilMs = performance.now() + visibleWithinMs;
  for (;;) {
    const shown = await unlessAway(readMakers(log, prefix));
    const isDone = ({ isShown }: Step) => shown !== undefined && isShown(shown);
    if (steps.every(isDone) || performance.now() >= untilMs) {
      const late = 'written to the log, but not yet visible to the services: is the projector running?';
      const lines = steps.map((step) => (isDone(step) ? `${step.name}${step.effect}` : `${step.name}: ${late}`));
      return { lines, exitCode: steps.every(isDone) ? 0 : 1 };
    }
    await pause(LOOK_INTERVAL_MS);
  }
}
