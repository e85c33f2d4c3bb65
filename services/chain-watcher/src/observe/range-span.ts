/**
 * Of how many blocks logs are asked for at once. A range that fails is halved; what was too large may have been so for the
 * logs in it, so now and then a larger one is tried. Nothing tells a node that has no time for a range from one that is
 * away: where several ranges failed in a row, it may have been away, and the span grows with each range that is given,
 * until one fails between two that do not.
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
   * @param isRefused the node is there, and says that they are too many
   */
  failed(blocks: number, isRefused: boolean): void {
    this.isTooLarge = isRefused || this.given > 0;
    this.given = 0;
    this.blocksNow = Math.ceil(blocks / 2);
  }
}

const BLOCKS_MAX = 5000;
const TRIAL_RANGES = 16;
