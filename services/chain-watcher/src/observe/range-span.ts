/**
 * How many blocks one request for logs covers. A range that fails is halved. It may have been too large only because of the
 * logs in it, so now and then a larger one is tried. A node that has no time for a range looks like one that is away: after
 * several failures in a row it may have been away, and the span grows again with each success, until a failure comes
 * between two successes.
 */
export class RangeSpan {
  private blocksNow = BLOCKS_MAX;
  private given = 0;
  private isTooLarge = false;

  get blocks(): number {
    return this.blocksNow;
  }

  gave(): void {
    this.given += 1;
    if (this.isTooLarge && this.given % TRIAL_RANGES !== 0) return;
    this.blocksNow = Math.min(BLOCKS_MAX, this.blocksNow * 2);
  }

  /**
   * @param blocks how many were asked for
   * @param isRefused the node answered that they are too many
   */
  failed(blocks: number, isRefused: boolean): void {
    this.isTooLarge = isRefused || this.given > 0;
    this.given = 0;
    this.blocksNow = Math.ceil(blocks / 2);
  }
}

const BLOCKS_MAX = 5000;
const TRIAL_RANGES = 16;
