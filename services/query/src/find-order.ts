import type { RequestHashers } from '@makerbook/contracts-evm';
import type { OrderReport } from '@makerbook/contracts-http';
import { type Hex, quantity } from '@makerbook/contracts-primitives';
import { boundedSeconds, type Rules, routableUntilOf } from '@makerbook/domain';
import { type ApiRequest, isRefusal, okJson, type Refusal, type Reply } from '@makerbook/http';
import { type Asker, answerSigned, lagHeader, type SignedParts } from './answer-signed.js';
import { describeEntry, fillOf, statusOf } from './describe-entries.js';
import type { Moment } from './find-moment.js';
import { parseOrderRequest } from './parse-requests.js';
import type { FoundOrder } from './read-order.js';

export interface FindOrderParts extends SignedParts {
  readonly hashers: Pick<RequestHashers, 'hashOrderRequest'>;
  readonly listRules: Pick<Rules, 'routingGraceSeconds'>;
  readonly readOrder: (asker: Asker, orderHash: Hex, at: Moment | undefined) => Promise<FoundOrder | Refusal>;
}

/**
 * Answers GET of one order. Checks the shape, then the signed request, then reads what became of the order. The rows
 * say what happened and where in the log. The log has the order itself and the cause of each change.
 */
export async function findOrder(request: ApiRequest, parts: FindOrderParts): Promise<Reply> {
  const asked = parseOrderRequest(request, parts.hashers);
  if (isRefusal(asked)) return asked;
  return answerSigned(request, asked, parts, async (asker) => {
    const found = await parts.readOrder(asker, asked.orderHash, asked.at);
    if (isRefusal(found)) return found;
    return okJson(Buffer.from(JSON.stringify(describeOrder(found, parts.listRules))), {
      'Cache-Control': 'private, no-store',
      ...lagHeader(found.lag),
    });
  });
}

export function describeOrder(
  { submitted, entries, facts }: FoundOrder,
  rules: Pick<Rules, 'routingGraceSeconds'>,
): OrderReport {
  const last = entries.findLast((entry) => entry.happened !== 'FILLED');
  if (last === undefined) throw new Error('an order that was found has a history');
  const { order, orderHash, signature, acceptedAtMs } = submitted;
  const amount = BigInt(order.making.amount);
  const filled = filledBy(amount, entries, facts);
  const isOver = last.happened === 'REMOVED';
  const atEnd = isOver ? filledBy(amount, entries.slice(0, entries.indexOf(last) + 1), facts) : filled;
  return {
    order,
    orderHash,
    signature,
    ...statusOf(last),
    routableUntil: routableUntilOf(boundedSeconds(BigInt(order.expiresAt)), rules),
    remainingMakingAmount: quantity(amount - filled),
    filledMakingAmount: quantity(filled),
    ...(filled > atEnd && { filledAfterEnd: quantity(filled - atEnd) }),
    acceptedAtMs,
    timeline: entries.map((entry) => describeEntry(entry, facts, order)),
  };
}

/** The amount filled by then: the most that a change, a fill's own remainder, or the sum of the fills shows. */
function filledBy(amount: bigint, entries: FoundOrder['entries'], facts: FoundOrder['facts']): bigint {
  let [sum, most] = [0n, 0n];
  for (const entry of entries) {
    const fill = entry.happened === 'FILLED' ? fillOf(entry, facts).fill : undefined;
    sum += BigInt(fill?.makingAmount ?? 0);
    const left = entry.happened === 'FILLED' ? BigInt(fill?.remaining ?? amount) : entry.remaining;
    most = [most, sum, amount - left].reduce((a, b) => (a > b ? a : b));
  }
  return most;
}
