import {
  encodeMakerEvent,
  type MakerEvent,
  type MakerLimits,
  servicePartition,
  topicNames,
} from '@makerbook/contracts-events';
import type { Hex } from '@makerbook/contracts-primitives';
import { type Log, partitionOf } from '@makerbook/kafka';
import { readMakers, type ShownMakers, waitUntilShown } from './follow-makers.js';
import type { Outcome } from './outcome.js';
import type { Decision } from './parse-command.js';

export interface DecisionOptions {
  readonly prefix: string;
  readonly partitions: number;
  /** Names the command in the facts that it leads to. */
  readonly commandId: string;
  /** The person who decides. */
  readonly by: string;
  readonly reason: string | undefined;
  readonly nowMs: number;
  readonly visibleWithinMs: number;
}

/**
 * Writes the decision about each maker to the maker's own partition of the log, or the one about the service to its
 * partition, and waits until the projector has put it into `limit-orders.makers.v1`, where ingress and query see it. What
 * they cannot see in time is in the log all the same, and the exit code is 1.
 * @throws LogUnavailable
 */
export async function decide(log: Log, decision: Decision, options: DecisionOptions): Promise<Outcome> {
  switch (decision.do) {
    case 'release': {
      // No feed shows it; the projector logs that the maker is folded again.
      await appendFacts(log, eachOf(decision.makers, { type: 'QuarantineLifted' }, options), options);
      return { lines: decision.makers.map((maker) => `${maker}: release written to the log`), exitCode: 0 };
    }
    case 'cancel-only': {
      const { mode } = decision;
      await appendFacts(log, [{ type: 'ServiceModeSet', mode, cause: causeOf(options) }], options);
      const isOn = mode === 'CANCEL_ONLY';
      const name = isOn ? 'the service takes no new orders' : 'the service takes orders';
      return awaitShown(log, [[name, '', (shown) => shown.isCancelOnly === isOn]], options);
    }
    case 'set':
    case 'suspend':
    case 'remove': {
      const { makers } = await readMakers(log, options.prefix);
      const strangers = decision.makers.filter((maker) => (makers.get(maker)?.admission ?? 'UNKNOWN') === 'UNKNOWN');
      if (strangers.length > 0) return refuseStrangers(strangers);
      return decision.do === 'set'
        ? setLimits(log, decision, makers, options)
        : setAdmission(log, decision.do, decision.makers, options);
    }
    default:
      return setAdmission(log, decision.do, decision.makers, options);
  }
}

const admissions = {
  add: { type: 'MakerAdmitted', admission: 'ADMITTED', word: 'admitted' },
  suspend: { type: 'MakerSuspended', admission: 'SUSPENDED', word: 'suspended' },
  remove: { type: 'MakerRemoved', admission: 'REMOVED', word: 'removed' },
} as const;

async function setAdmission(
  log: Log,
  verb: keyof typeof admissions,
  makers: readonly Hex[],
  options: DecisionOptions,
): Promise<Outcome> {
  const { type, admission, word } = admissions[verb];
  await appendFacts(log, eachOf(makers, { type }, options), options);
  const isShown = (maker: Hex) => (shown: ShownMakers) => shown.makers.get(maker)?.admission === admission;
  return awaitShown(
    log,
    makers.map((maker) => [maker, `: ${word}`, isShown(maker)]),
    options,
  );
}

/** A decision about a maker of whom nobody ever decided would mean nothing: that is a wrong address, and nothing is written. */
function refuseStrangers(strangers: readonly Hex[]): Outcome {
  const lines = strangers.map((maker) => `${maker} was never on the whitelist: add it first; nothing was written`);
  return { lines, exitCode: 1 };
}

async function setLimits(
  log: Log,
  { makers, limits, isReset }: Extract<Decision, { readonly do: 'set' }>,
  shown: ShownMakers['makers'],
  options: DecisionOptions,
): Promise<Outcome> {
  const limitsOf = new Map(makers.map((maker) => [maker, { ...(isReset ? {} : shown.get(maker)?.limits), ...limits }]));
  const facts = [...limitsOf].map(([maker, own]): MakerEvent => {
    return { type: 'MakerLimitsSet', maker, limits: own, cause: causeOf(options) };
  });
  await appendFacts(log, facts, options);
  return awaitShown(
    log,
    [...limitsOf].map(([maker, own]) => [
      maker,
      `: ${describeLimits(own)}`,
      (now) => describeLimits(now.makers.get(maker)?.limits ?? {}) === describeLimits(own),
    ]),
    options,
  );
}

/** `open orders 5000, 200 orders/s, burst 2000`: those that the maker has of its own. */
export function describeLimits({ openOrdersMax, ordersPerSecond, ordersBurst }: MakerLimits): string {
  const own = [
    openOrdersMax === undefined ? [] : `open orders ${openOrdersMax}`,
    ordersPerSecond === undefined ? [] : `${ordersPerSecond} orders/s`,
    ordersBurst === undefined ? [] : `burst ${ordersBurst}`,
  ].flat();
  return own.length === 0 ? 'default limits' : own.join(', ');
}

function eachOf(
  makers: readonly Hex[],
  { type }: { readonly type: 'QuarantineLifted' | (typeof admissions)[keyof typeof admissions]['type'] },
  options: DecisionOptions,
): MakerEvent[] {
  return makers.map((maker) => ({ type, maker, cause: causeOf(options) }));
}

function causeOf({ commandId, by, reason }: DecisionOptions) {
  return { kind: 'operator' as const, commandId, by, ...(reason === undefined ? {} : { reason }) };
}

async function appendFacts(
  log: Log,
  facts: readonly MakerEvent[],
  { prefix, partitions, commandId, nowMs }: DecisionOptions,
): Promise<void> {
  const appender = log.createAppender();
  const topic = topicNames(prefix).makerEvents;
  for (const [index, fact] of facts.entries()) {
    const context = { id: `${commandId}:${index}`, source: '/makerbook/operator', timeMs: nowMs };
    const { key, value, headers } = encodeMakerEvent(fact, context);
    const partition = key === null ? servicePartition : partitionOf(key, partitions);
    await appender.append([{ topic, partition, key: key ?? '', value, headers }]);
  }
  await appender.close();
}

type Awaited = readonly [name: string, effect: string, isShown: (shown: ShownMakers) => boolean];

async function awaitShown(
  log: Log,
  awaited: readonly Awaited[],
  { prefix, visibleWithinMs }: DecisionOptions,
): Promise<Outcome> {
  const isAll = (shown: ShownMakers) => awaited.every(([, , isShown]) => isShown(shown));
  const shown = await waitUntilShown(log, { prefix, withinMs: visibleWithinMs }, isAll);
  const lines = awaited.map(([name, effect, isShown]) =>
    isShown(shown)
      ? `${name}${effect}`
      : `${name}: written to the log, but not yet visible to the services: is the projector running?`,
  );
  return { lines, exitCode: isAll(shown) ? 0 : 1 };
}
