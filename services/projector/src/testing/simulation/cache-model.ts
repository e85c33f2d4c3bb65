import type { Hex } from '@makerbook/contracts-primitives';
import type { RefreshBatch } from '@makerbook/redis';
import type { Tables } from './hold-rows.js';

/** Redis, as far as the projector writes it: lists of makers, forgotten where a refresh does not follow on the one before. */
export class CacheModel {
  readonly #tablesNow: () => Tables;
  readonly #lists = new Map<Hex, Map<Hex, string>>();
  #position = -2n;

  constructor(tablesNow: () => Tables) {
    this.#tablesNow = tablesNow;
  }

  /** @returns what a reader would find wrong */
  refresh({ prevPos, newPos, changes }: RefreshBatch): string[] {
    if (prevPos !== this.#position) this.#lists.clear();
    this.#position = newPos;
    for (const change of changes) {
      const list = this.#lists.get(change.maker);
      if (change.kind === 'removed') list?.delete(change.orderHash);
      else list?.set(change.orderHash, change.record);
    }
    const tables = this.#tablesNow();
    if (tables.projection.next.offset !== newPos || tables.projection.isBlockBegun) return [];
    // A reader fills what is cold.
    const wrong: string[] = [];
    for (const maker of tables.makers.keys()) {
      const rows = listOf(maker, tables);
      const list = this.#lists.get(maker);
      if (list === undefined) this.#lists.set(maker, rows);
      else if (described(list) !== described(rows)) {
        wrong.push(`at ${newPos} the cached list of ${maker} is ${described(list)}, and its rows ${described(rows)}`);
      }
    }
    return wrong;
  }
}

function listOf(maker: Hex, { orders }: Tables): Map<Hex, string> {
  const own = [...orders.values()].filter((order) => order.maker === maker);
  return new Map(
    own.map(({ orderHash, recordStart, status, reason }) => {
      return [orderHash, `${recordStart},"status":"${status}"${reason === null ? '' : `,"reason":"${reason}"`}}`];
    }),
  );
}

function described(list: ReadonlyMap<Hex, string>): string {
  return JSON.stringify([...list].sort());
}
