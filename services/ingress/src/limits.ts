import { topicNames } from '@makerbook/contracts-events';
import type { IngressSettings } from './env.js';

/** A busy process may be late by so much. */
const APPEND_SPARE_MS = 1_000;
/** The clocks of the brokers, by which the rows are forgotten, may differ by so much from each other. */
const CLOCK_SPARE_MS = 2_000;

/** The longest time from reading what a request is decided by to the end of the append that follows. */
export function appendMsMaxOf(settings: IngressSettings): number {
  return settings.POSTGRES_TIMEOUT_MS + settings.APPEND_TIMEOUT_MS + APPEND_SPARE_MS;
}

/** From a decision to the time by which its append has ended and a later record is stored. */
export function settledMsOf(settings: IngressSettings): number {
  return appendMsMaxOf(settings) + CLOCK_SPARE_MS;
}

/**
 * The time of its record by which an order has to be in the log: once its row is forgotten, no later record of it
 * counts.
 * @param untilMs of its row
 */
export function storedByMsOf(untilMs: number): number {
  return untilMs - CLOCK_SPARE_MS;
}

export function makerEventsTopicOf({ TOPIC_PREFIX }: IngressSettings): string {
  return topicNames(TOPIC_PREFIX).makerEvents;
}
