import { decodeMakerEvent } from '@makerbook/contracts-events';
import { hashKeyText } from '@makerbook/domain';
import type { StoredRecord } from '@makerbook/kafka';
import type { InFlight, RowsInMemory } from './hold-rows.js';

/** What ingress has written of an order. */
interface Placed extends InFlight {
  /** Of its `OrderSubmitted`; undefined where it never comes. */
  readonly offset: bigint | undefined;
}

/**
 * What ingress has in flight stays until the fold has met it, or the log's clock has passed the end of its append; and not for
 * longer.
 */
export class InFlightJudge {
  readonly #rows: RowsInMemory;
  readonly #submissions = new Map<string, bigint[]>();
  readonly #cancellations = new Map<string, bigint[]>();
  /** When each fact was appended, in the order of the log. */
  readonly #clock: { readonly offset: bigint; readonly ms: number }[] = [];
  #placed: Placed[] = [];
  #cancelling: InFlight[] = [];

  constructor(rows: RowsInMemory, stream: readonly StoredRecord[]) {
    this.#rows = rows;
    for (const record of stream) {
      const fact = decodeMakerEvent(record);
      if ('unreadable' in fact || (fact.type !== 'OrderSubmitted' && fact.type !== 'OrderCancelled')) continue;
      const all = fact.type === 'OrderSubmitted' ? this.#submissions : this.#cancellations;
      all.set(hashKeyText(fact), [...(all.get(hashKeyText(fact)) ?? []), record.offset]);
    }
  }

  place(row: InFlight, offset: bigint | undefined): void {
    if (this.#rows.place(row)) this.#placed.push({ ...row, offset });
  }

  cancel(row: InFlight): void {
    this.#rows.cancel(row);
    this.#cancelling.push(row);
  }

  /** The server was started again: none of it is there any more. */
  lost(): void {
    this.#placed = [];
    this.#cancelling = [];
  }

  appended(record: StoredRecord, nowMs: number): void {
    if (!('unreadable' in decodeMakerEvent(record))) this.#clock.push({ offset: record.offset, ms: nowMs });
  }

  /** To be called after each commit. */
  judge(): string[] {
    const { projection, inFlight, cancelling, history } = this.#rows.tables;
    const { nextOffset, clockMs } = projection;
    const isFolded = (offsets: readonly bigint[] = []) => offsets.some((offset) => offset < nextOffset);
    const hasEnded = ({ untilMs }: InFlight) => untilMs < clockMs;
    const wrong: string[] = [];
    const must = this.#clock.findLast(({ offset }) => offset < nextOffset)?.ms ?? 0;
    if (clockMs !== must) wrong.push(`at ${nextOffset} the log's clock is at ${clockMs}, and must be at ${must}`);
    this.#placed = this.#placed.filter((row) => {
      const isThere = inFlight.has(hashKeyText(row));
      if (isThere && row.offset !== undefined && row.offset < nextOffset) {
        wrong.push(`${row.orderHash} is still in flight, and is folded by ${nextOffset}`);
      }
      if (!isThere && !isFolded(this.#submissions.get(hashKeyText(row))) && !hasEnded(row)) {
        wrong.push(`${row.orderHash} is not in flight any more at ${nextOffset}, ${clockMs} ms, and may come`);
      }
      return isThere;
    });
    const removed = new Set(history.flatMap((row) => (row.happened === 'REMOVED' ? hashKeyText(row) : [])));
    this.#cancelling = this.#cancelling.filter((row) => {
      const isThere = cancelling.includes(row);
      const isSettled = isFolded(this.#cancellations.get(hashKeyText(row))) || removed.has(hashKeyText(row));
      if (!isThere && !isSettled && !hasEnded(row)) {
        wrong.push(`the cancellation of ${row.orderHash} is forgotten at ${nextOffset}, ${clockMs} ms, and may come`);
      }
      return isThere;
    });
    return wrong;
  }

  /** When all has been folded. */
  judgeEnd(): string[] {
    const { inFlight, cancelling } = this.#rows.tables;
    const left = inFlight.size + cancelling.length;
    return left === 0 ? [] : [`at the end ${left} rows are in flight`];
  }
}
