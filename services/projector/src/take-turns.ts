/** Lets the partitions of one process fold heavy stretches by turns. */
export interface Turns {
  /**
   * Waits until there is room, first come, first served. What is heavier than all there is gets its turn alone.
   * @returns to be called when the work is done
   */
  readonly take: (weight: number) => Promise<() => void>;
  /** How much is under way. */
  readonly underWay: () => number;
}

/**
 * A block goes to every partition at once, and so does what it makes due. Bounds on one commit alone would leave the
 * process with as many of them at the same time as it owns partitions: none would have its connection or its answer in
 * time, and the group would miss the heartbeats.
 * @param capacity the weight of all that may be under way
 * @param freely what is this light does not wait
 */
export function createTurns(capacity: number, freely: number): Turns {
  let underWay = 0;
  const waiting: { readonly weight: number; readonly begin: () => void }[] = [];
  const letIn = (): void => {
    for (let next = waiting[0]; next !== undefined; next = waiting[0]) {
      if (underWay > 0 && underWay + next.weight > capacity) return;
      waiting.shift();
      underWay += next.weight;
      next.begin();
    }
  };
  return {
    take: async (weight) => {
      if (weight <= freely) return () => {};
      await new Promise<void>((begin) => {
        waiting.push({ weight, begin });
        letIn();
      });
      return () => {
        underWay -= weight;
        letIn();
      };
    },
    underWay: () => underWay,
  };
}
