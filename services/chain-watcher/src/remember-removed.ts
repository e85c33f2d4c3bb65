import { KeyIndex } from './index-keys.js';

/**
 * Hashes of orders that were removed before they expired, the newest ones, at most so many. A hash is never accepted
 * twice, so a repeat of its submission in the log opens nothing; a repeat comes soon or not at all, as ingress refuses
 * a hash that it knows. Where one was forgotten, a repeat would be watched in vain until it expires, and what the log
 * says of its pair would be taken for known where the fold of the domain does not know it. `mayHaveForgotten` tells;
 * `WatchedSet.takeJoined` makes it harmless.
 */
export class RemovedHashes {
  private readonly countMax: number;
  private readonly hashes = new KeyIndex(8);
  /** Slots in the order of their removal, used round. */
  private readonly ring: number[] = [];
  private next = 0;
  private isIncomplete = false;

  /** @param countMax each costs some 60 bytes */
  constructor(countMax: number) {
    this.countMax = countMax;
  }

  get size(): number {
    return this.hashes.size;
  }

  get mayHaveForgotten(): boolean {
    return this.isIncomplete;
  }

  /** To be called where orders were removed of which nothing is known here. */
  noteUnknown(): void {
    this.isIncomplete = true;
  }

  has(hash: Uint32Array): boolean {
    return this.hashes.find(hash) >= 0;
  }

  add(hash: Uint32Array): void {
    if (this.has(hash)) return;
    if (this.ring.length === this.countMax) {
      const oldest = this.ring[this.next];
      if (oldest !== undefined) this.hashes.delete(oldest);
      this.isIncomplete = true;
    }
    this.ring[this.next] = this.hashes.findOrInsert(hash);
    this.next = (this.next + 1) % this.countMax;
  }
}
