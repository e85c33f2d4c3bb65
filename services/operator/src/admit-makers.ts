import { decodeMakerView, encodeMakerEvent, type Hex, type MakerView, topicNames } from '@makerbook/contracts-events';
import { type Log, partitionOf } from '@makerbook/kafka';

/** What an operator decides about a maker. */
export type AdmissionCommand = 'add' | 'suspend' | 'remove';

const facts = { add: 'MakerAdmitted', suspend: 'MakerSuspended', remove: 'MakerRemoved' } as const;
const admissions = { add: 'ADMITTED', suspend: 'SUSPENDED', remove: 'REMOVED' } as const;

export interface AdmissionOptions {
  readonly prefix: string;
  readonly partitions: number;
  /** Names the command in the facts that it leads to. */
  readonly commandId: string;
  readonly nowMs: number;
  readonly visibleWithinMs: number;
}

/**
 * Writes the decision about each maker to the maker's own partition of the log, and waits until the projector has put
 * it into `limit-orders.makers.v1`, where ingress and query see it.
 * @returns the makers whose record does not show the decision yet; the decision stands all the same
 * @throws LogUnavailable
 */
export async function decideAdmission(
  log: Log,
  command: AdmissionCommand,
  makers: readonly Hex[],
  options: AdmissionOptions,
): Promise<Hex[]> {
  const { makerEvents } = topicNames(options.prefix);
  const appender = log.createAppender();
  for (const [index, maker] of makers.entries()) {
    const event = { type: facts[command], maker, cause: { kind: 'operator' as const, commandId: options.commandId } };
    const context = { id: `${options.commandId}:${index}`, source: '/makerbook/operator', timeMs: options.nowMs };
    const { value, headers } = encodeMakerEvent(event, context);
    await appender.append([
      { topic: makerEvents, partition: partitionOf(maker, options.partitions), key: maker, value, headers },
    ]);
  }
  await appender.close();
  return waitUntilVisible(log, makers, admissions[command], options);
}

/** Every maker of whom an operator ever decided, as `limit-orders.makers.v1` shows them now, by address. */
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
