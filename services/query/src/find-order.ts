import type { MakerEvent } from '@makerbook/contracts-events';
import type { RequestHashers } from '@makerbook/contracts-evm';
import type { FactCause, OrderReport } from '@makerbook/contracts-http';
import { type Hex, quantity } from '@makerbook/contracts-primitives';
import { type ApiRequest, isRefusal, okJson, type Refusal, type Reply } from '@makerbook/http';
import type { HistoryEntry } from '@makerbook/postgres';
import { type Asker, answerSigned, type SignedParts } from './answer-signed.js';
import { parseOrderRequest } from './parse-requests.js';
import type { FoundOrder } from './read-order.js';

export interface FindOrderParts extends SignedParts {
  readonly hashers: Pick<RequestHashers, 'hashOrderRequest'>;
  readonly readOrder: (asker: Asker, orderHash: Hex) => Promise<FoundOrder | Refusal>;
}

/**
 * GET of one order: shape, then the checks of a signed request, then what became of the order. The rows say what happened to it
 * and where in the log; the log has the order itself and the cause of each change.
 */
export async function findOrder(request: ApiRequest, parts: FindOrderParts): Promise<Reply> {
  const asked = parseOrderRequest(request, parts.hashers);
  if (isRefusal(asked)) return asked;
  return answerSigned(request, asked, parts, async (asker) => {
    const found = await parts.readOrder(asker, asked.orderHash);
    if (isRefusal(found)) return found;
    return okJson(JSON.stringify(describeOrder(found)), {
      'Cache-Control': 'private, no-store',
      ...(found.lag === 0 ? {} : { 'X-Read-Lag': String(found.lag) }),
    });
  });
}

function describeOrder({ submitted, entries, facts }: FoundOrder): OrderReport {
  const last = entries.at(-1);
  if (last === undefined) throw new Error('an order that was found has a history');
  const { order, orderHash, signature, acceptedAtMs } = submitted;
  const making = BigInt(order.making.amount);
  const timeline = entries.flatMap((entry) => {
    const logged = facts.get(entry.logOffset);
    if (logged === undefined) return [];
    return {
      position: `${entry.partition}:${entry.logOffset}`,
      loggedAtMs: logged.loggedAtMs,
      happened: entry.happened,
      ...statusOf(entry),
      remainingMakingAmount: quantity(remainingAfter(entry, logged.fact, { orderHash, making })),
      cause: causeOf(logged.fact),
    };
  });
  const remaining = remainingAfter(last, facts.get(last.logOffset)?.fact, { orderHash, making });
  return {
    order,
    orderHash,
    signature,
    ...statusOf(last),
    remainingMakingAmount: quantity(remaining),
    filledMakingAmount: quantity(making - remaining),
    acceptedAtMs,
    timeline,
  };
}

function statusOf({ happened, status, reason }: HistoryEntry): Pick<OrderReport, 'status' | 'reason'> {
  // Postgres holds a reason to what it is the reason of.
  if (happened === 'REMOVED') return { status: reason as OrderReport['status'] };
  return status === 'INACTIVE' ? { status, reason: reason as NonNullable<OrderReport['reason']> } : { status };
}

/** The rows of a removed order have what was left before. What was filled by the block that ended it is in the fact. */
function remainingAfter(
  { happened, remaining }: HistoryEntry,
  fact: MakerEvent | undefined,
  { orderHash, making }: { readonly orderHash: Hex; readonly making: bigint },
): bigint {
  if (happened !== 'REMOVED' || fact?.type !== 'MakerObserved') return remaining;
  const own = fact.orders.find((observed) => observed.orderHash === orderHash);
  const filled = own === undefined ? making - remaining : BigInt(own.filled);
  return filled >= making ? 0n : making - filled;
}

function causeOf(fact: MakerEvent): FactCause {
  if (fact.type === 'BlockProcessed') return { kind: 'block', block: fact.block };
  if (!('cause' in fact)) throw new Error(`a ${fact.type} does nothing to an order`);
  const { cause } = fact;
  if (cause.kind === 'request') return cause;
  if (fact.type !== 'MakerObserved' || cause.kind === 'operator') return { kind: 'operator' };
  return { ...cause, block: fact.block };
}
