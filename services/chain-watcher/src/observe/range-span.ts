/**
 * Of how many blocks logs are asked for at once. A range that fails is halved, and each that is given lets the next one be a
 * little longer: so a node that has no time for many blocks fails one range of a dozen, and after an outage the range grows.
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
