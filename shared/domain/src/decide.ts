import {
  type CancelAll,
  type Cancellation,
  decideCancelAll,
  decideCancellation,
  decideReplacement,
  type Replacement,
} from './decide-cancellation.js';
import { decideInstruction, type Instructing } from './decide-instruction.js';
import { decidePlacement, type Placement } from './decide-placement.js';
import type { Standing } from './standing.js';
import type { Verdict } from './verdict.js';

/** A parsed request about orders, with proven signatures. */
export type DecidedRequest = Placement | Cancellation | Replacement | CancelAll | Instructing;

/**
 * Decides about a request from what was read. It holds every rule about a request that needs more than the request.
 * @param nowMs the time of the standing, in milliseconds since 1970: the clock of the store, not that of a process
 */
export function decide(standing: Standing, request: DecidedRequest, nowMs: number): Verdict {
  switch (request.kind) {
    case 'placement':
      return decidePlacement(standing, request, nowMs);
    case 'cancellation':
      return decideCancellation(standing, request, nowMs);
    case 'replacement':
      return decideReplacement(standing, request, nowMs);
    case 'cancel-all':
      return decideCancelAll(standing, request, nowMs);
    case 'instruction':
      return decideInstruction(standing, request, nowMs);
  }
}
