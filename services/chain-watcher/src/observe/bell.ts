/** Wakes those who wait for it. */
export class Bell {
  private readonly sleepers = new Set<() => void>();

  ring(): void {
    for (const wake of this.sleepers) wake();
  }

  /** Resolves when it rings, or with the pause. */
  rungWithin(pause: Promise<void>): Promise<void> {
    return new Promise((resolve) => {
      const wake = () => {
        this.sleepers.delete(wake);
        resolve();
      };
      this.sleepers.add(wake);
      void pause.then(wake);
    });
  }
}
