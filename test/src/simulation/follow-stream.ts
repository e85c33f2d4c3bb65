import type { StreamEvent } from '@makerbook/contracts-http';
import type { Hex } from '@makerbook/contracts-primitives';
import { lineOf, offsetOf } from './describe-entry.js';
import { type OpenResponse, openResponse } from './open-response.js';

/** A client that follows a maker's stream, over all of its connections. */
export class FollowedStream {
  /** The changes, as `historyOf` writes them. */
  readonly lines: string[] = [];
  /** The offset of the first snapshot. */
  begunAt: bigint | undefined;
  lastId: string | undefined;
  readonly wrong: string[] = [];
  /** Each clock's offset, and how many lines were read by then. They cover all facts before the offset. */
  readonly clocks: { readonly offset: bigint; readonly lines: number }[] = [];
  #open: OpenResponse | undefined;

  /** Ends the open connection and opens the next one. Writes to older connections are not read. */
  reconnect(): OpenResponse {
    this.#open?.leave();
    const open = openResponse((text) => {
      this.#take(text);
      return false;
    });
    this.#open = open;
    return open;
  }

  #take(text: string): void {
    const [, id, event = '', data = ''] = /^(?:id: (.*)\n)?event: (.*)\ndata: (.*)\n\n$/.exec(text) ?? [];
    if (event === 'snapshot') this.begunAt ??= offsetOf(id ?? '');
    if (event === 'change') {
      const { after, ...entry } = JSON.parse(data) as StreamEvent<'change'>;
      if (after !== this.lastId) this.wrong.push(`${id} comes behind ${this.lastId}, and says behind ${after}`);
      this.lines.push(lineOf(entry, entry.orderHash as Hex));
    }
    if (event === 'clock') {
      const { position } = JSON.parse(data) as StreamEvent<'clock'>;
      this.clocks.push({ offset: BigInt(position.split(':')[1] ?? 0), lines: this.lines.length });
    }
    if (id !== undefined) this.lastId = id;
  }
}
