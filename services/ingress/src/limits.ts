import { topicNames } from '@makerbook/contracts-events';
import type { IngressSettings } from './env.js';

/** After its time-out nothing more of an append is sent; what was sent last may still be on its way to the broker. */
const APPEND_SPARE_MS = 1_000;
/** The clock of the rows is the brokers', and may be ahead of the one here. */
const CLOCK_SPARE_MS = 2_000;

/** The longest time from reading what a request is decided by to the end of the append that follows. */
export function appendMsMaxOf(settings: IngressSettings): number {
  return settings.POSTGRES_TIMEOUT_MS + settings.APPEND_TIMEOUT_MS + APPEND_SPARE_MS;
}

/** From a decision to the time by which its append has ended and a later record is stored. */
export function settledMsOf(settings: IngressSettings): number {
  return appendMsMaxOf(settings) + CLOCK_SPARE_MS;
}

export function makerEventsTopicOf({ TOPIC_PREFIX }: IngressSettings): string {
  return topicNames(TOPIC_PREFIX).makerEvents;
}
