/**
 * How many blocks one request for logs covers. A range that fails is halved, and each that succeeds lets the next one be a
 * little longer. So a node that has no time for many blocks fails one range in a dozen, and after an outage the range grows.
 */
export class RangeSpan {
  blocks = BLOCKS_MAX;

  gave(): void {
    this.blocks = Math.min(BLOCKS_MAX, Math.ceil((this.blocks * 17) / 16));
  }

  /** @param blocks how many were asked for */
  failed(blocks: number): void {
    this.blocks = Math.ceil(blocks / 2);
  }
}

const BLOCKS_MAX = 5000;
