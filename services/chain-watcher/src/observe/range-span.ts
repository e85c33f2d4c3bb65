const BLOCKS_MAX = 5000;
/**
 * How many blocks one request for logs covers. A range that fails is halved. A node that has no time for a range looks
 * like one that is down. After several failures in a row it may have been down, so the span doubles with each success.
 * After a refusal, or a failure between successes, each success adds only a sixteenth: so the span is too large only
 * now and then.
 */
export class RangeSpan {
  blocks = BLOCKS_MAX;
  #hasGiven = false;
  #isTooLarge = false;

  gave(): void {
    this.#hasGiven = true;
    this.blocks = Math.min(BLOCKS_MAX, Math.ceil(this.blocks * (this.#isTooLarge ? 17 / 16 : 2)));
  }

  /**
   * @param blocks how many were asked for
   * @param isRefused the node answered that they are too many
   */
  failed(blocks: number, isRefused: boolean): void {
    this.#isTooLarge = isRefused || this.#hasGiven;
    this.#hasGiven = false;
    this.blocks = Math.ceil(blocks / 2);
  }
}
