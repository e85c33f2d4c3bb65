import { topicNames } from '@makerbook/contracts-events';
import type { IngressSettings } from './env.js';

/** How late a busy process may be. */
const APPEND_SPARE_MS = 1_000;
/** How much the clocks of the brokers may differ. The rows are forgotten by these clocks. */
const CLOCK_SPARE_MS = 2_000;

/** The longest time in ms from the read for a decision to the end of the append that follows. */
export function appendMsMaxOf(settings: IngressSettings): number {
  return settings.POSTGRES_TIMEOUT_MS + settings.APPEND_TIMEOUT_MS + APPEND_SPARE_MS;
}

/** The time in ms from a decision until its append has ended and a later record is stored. */
export function settledMsOf(settings: IngressSettings): number {
  return appendMsMaxOf(settings) + CLOCK_SPARE_MS;
}

/**
 * The time, in Unix ms, by which the log has to store an order's record. The order's row may be forgotten soon after,
 * so no later record counts.
 * @param untilMs until when the row is kept
 */
export function storedByMsOf(untilMs: number): number {
  return untilMs - CLOCK_SPARE_MS;
}

export function makerEventsTopicOf({ TOPIC_PREFIX }: IngressSettings): string {
  return topicNames(TOPIC_PREFIX).makerEvents;
}
