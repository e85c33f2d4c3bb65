import type { Hex } from '@makerbook/contracts-primitives';
/**
 * Finds small integers (slots) by keys of a fixed number of 32-bit words. All keys lie in one array, so that a million
 * addresses or hashes cost tens of megabytes, and the garbage collector has nothing to visit. Slots of keys that were
 * deleted are given out again, so columns beside the index are arrays by slot.
 */
export class KeyIndex {
  private readonly words: number;
  private keys: Uint32Array;
  /** Open addressing with linear probing: slot + 1, or 0 for an empty place. At most half full. */
  private table: Int32Array;
  private readonly free: number[] = [];
  private used = 0;

  constructor(words: number) {
    this.words = words;
    this.keys = new Uint32Array(words * FIRST_SLOTS);
    this.table = new Int32Array(FIRST_SLOTS * 2);
  }

  /** How many keys there are. */
  get size(): number {
    return this.used - this.free.length;
  }

  /** One more than the highest slot that was ever given out. */
  get slotsEnd(): number {
    return this.used;
  }

  /** The slot of the key, or -1. The key is read from the first words of the buffer. */
  find(key: Uint32Array): number {
    return (this.table[this.placeOf(key, 0)] ?? 0) - 1;
  }

  /** The slot of the key, given out now if there was none. */
  findOrInsert(key: Uint32Array): number {
    const place = this.placeOf(key, 0);
    const found = (this.table[place] ?? 0) - 1;
    if (found >= 0) return found;
    const slot = this.free.pop() ?? this.used++;
    if ((slot + 1) * this.words > this.keys.length) {
      const larger = new Uint32Array(this.keys.length * 2);
      larger.set(this.keys);
      this.keys = larger;
    }
    for (let word = 0; word < this.words; word += 1) this.keys[slot * this.words + word] = key[word] ?? 0;
    this.table[place] = slot + 1;
    if (this.size * 2 > this.table.length) this.grow();
    return slot;
  }

  /** Forgets the key of a slot that is in use. */
  delete(slot: number): void {
    const mask = this.table.length - 1;
    let hole = this.placeOf(this.keys, slot * this.words);
    if (this.table[hole] !== slot + 1) throw new Error(`slot ${slot} is not in use`);
    // Moves back entries behind the hole that belong at or before it, so that no search stops too early.
    for (let place = (hole + 1) & mask; this.table[place] !== 0; place = (place + 1) & mask) {
      const home = this.hash(this.keys, ((this.table[place] ?? 0) - 1) * this.words) & mask;
      if (((place - home) & mask) >= ((place - hole) & mask)) {
        this.table[hole] = this.table[place] ?? 0;
        hole = place;
      }
    }
    this.table[hole] = 0;
    this.free.push(slot);
  }

  /** One word of the key of a slot in use. */
  wordAt(slot: number, word: number): number {
    return this.keys[slot * this.words + word] ?? 0;
  }

  /** The key of a slot in use as lowercase hex, or its first words. */
  hexAt(slot: number, words = this.words): Hex {
    let digits = '';
    for (let word = 0; word < words; word += 1) {
      digits += this.wordAt(slot, word).toString(16).padStart(8, '0');
    }
    return `0x${digits}`;
  }

  private placeOf(key: Uint32Array, from: number): number {
    const mask = this.table.length - 1;
    let place = this.hash(key, from) & mask;
    for (let found = this.table[place] ?? 0; found !== 0; found = this.table[place] ?? 0) {
      if (this.equals((found - 1) * this.words, key, from)) break;
      place = (place + 1) & mask;
    }
    return place;
  }

  private equals(at: number, key: Uint32Array, from: number): boolean {
    for (let word = 0; word < this.words; word += 1) {
      if (this.keys[at + word] !== key[from + word]) return false;
    }
    return true;
  }

  private hash(key: Uint32Array, from: number): number {
    let hash = 0x9e3779b9;
    for (let word = 0; word < this.words; word += 1) {
      hash = Math.imul(hash ^ (key[from + word] ?? 0), 0x85ebca6b);
      hash ^= hash >>> 15;
    }
    return hash >>> 0;
  }

  private grow(): void {
    const old = this.table;
    this.table = new Int32Array(old.length * 2);
    const mask = this.table.length - 1;
    for (const entry of old) {
      if (entry === 0) continue;
      let place = this.hash(this.keys, (entry - 1) * this.words) & mask;
      while (this.table[place] !== 0) place = (place + 1) & mask;
      this.table[place] = entry;
    }
  }
}

/**
 * Reads `words` times 8 hex digits of any case, from character `from` of the text, into the first words of the buffer.
 * A character that is not a hex digit counts as some digit: what comes here has been checked.
 */
export function readWords(text: string, from: number, words: number, into: Uint32Array): Uint32Array {
  for (let word = 0, at = from; word < words; word += 1) {
    let value = 0;
    for (const end = at + 8; at < end; at += 1) {
      const code = text.charCodeAt(at);
      value = (value << 4) | (code < 58 ? code - 48 : (code & 15) + 9);
    }
    into[word] = value >>> 0;
  }
  return into;
}

const FIRST_SLOTS = 16;
