import { decodeMakerView, encodeMakerEvent, type MakerView, topicNames } from '@makerbook/contracts-events';
import type { Hex } from '@makerbook/contracts-primitives';
import { type Log, partitionOf } from '@makerbook/kafka';

/** What an operator decides about a maker. */
export type AdmissionCommand = 'add' | 'suspend' | 'remove';

const facts = { add: 'MakerAdmitted', suspend: 'MakerSuspended', remove: 'MakerRemoved' } as const;
const admissions = { add: 'ADMITTED', suspend: 'SUSPENDED', remove: 'REMOVED' } as const;

export interface DecisionOptions {
  readonly prefix: string;
  readonly partitions: number;
  /** Names the command in the facts that it leads to. */
  readonly commandId: string;
  readonly nowMs: number;
}

export interface AdmissionOptions extends DecisionOptions {
  readonly visibleWithinMs: number;
}

/**
 * Writes the decision about each maker to the maker's own partition of the log, and waits until the projector has put
 * it into `limit-orders.makers.v1`, where ingress and query see it.
 * @returns the makers whose record does not show the decision yet; the decision is in the log all the same
 * @throws LogUnavailable
 */
export async function decideAdmission(
  log: Log,
  command: AdmissionCommand,
  makers: readonly Hex[],
  options: AdmissionOptions,
): Promise<Hex[]> {
  await appendDecisions(log, facts[command], makers, options);
  return waitUntilVisible(log, makers, admissions[command], options);
}

/**
 * Lifts the quarantine of makers: the projector folds each again from the fact that failed. Call it once the cause is
 * fixed; it changes nothing for a maker that is not in quarantine.
 * @throws LogUnavailable
 */
export async function liftQuarantine(log: Log, makers: readonly Hex[], options: DecisionOptions): Promise<void> {
  await appendDecisions(log, 'QuarantineLifted', makers, options);
}

async function appendDecisions(
  log: Log,
  type: (typeof facts)[AdmissionCommand] | 'QuarantineLifted',
  makers: readonly Hex[],
  { prefix, partitions, commandId, nowMs }: DecisionOptions,
): Promise<void> {
  const appender = log.createAppender();
  for (const [index, maker] of makers.entries()) {
    const event = { type, maker, cause: { kind: 'operator' as const, commandId } };
    const context = { id: `${commandId}:${index}`, source: '/makerbook/operator', timeMs: nowMs };
    const { value, headers } = encodeMakerEvent(event, context);
    const topic = topicNames(prefix).makerEvents;
    await appender.append([{ topic, partition: partitionOf(maker, partitions), key: maker, value, headers }]);
  }
  await appender.close();
}

/** Every maker with an operator's decision, as `limit-orders.makers.v1` shows it now, by address. */
export async function listMakers(log: Log, prefix: string): Promise<MakerView[]> {
  const views = new Map<string, MakerView>();
  const following = followMakers(log, prefix, (view) => views.set(view.maker, view));
  await following.caughtUp;
  await following.stop();
  return [...views.values()]
    .filter(({ admission }) => admission !== 'UNKNOWN')
    .sort((a, b) => (a.maker < b.maker ? -1 : 1));
}

async function waitUntilVisible(
  log: Log,
  makers: readonly Hex[],
  admission: MakerView['admission'],
  { prefix, visibleWithinMs }: AdmissionOptions,
): Promise<Hex[]> {
  const shown = new Map<Hex, MakerView['admission']>();
  const hidden = () => makers.filter((maker) => shown.get(maker) !== admission);
  let onView: () => void = () => undefined;
  const following = followMakers(log, prefix, (view) => {
    shown.set(view.maker, view.admission);
    onView();
  });
  await new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, visibleWithinMs);
    onView = () => {
      if (hidden().length > 0) return;
      clearTimeout(timer);
      resolve();
    };
    onView();
  });
  await following.stop();
  return hidden();
}

function followMakers(log: Log, prefix: string, onView: (view: MakerView) => void) {
  return log.followTopic({
    topic: topicNames(prefix).makers,
    from: 'beginning',
    onRecords: (_partition, records) => {
      for (const record of records) {
        const view = decodeMakerView(record);
        if (!('unreadable' in view)) onView(view);
      }
    },
  });
}
