/** Time that passes only when everybody waits. Work is done one piece after the other, each at its moment. */
export class VirtualTime {
  nowMs: number;
  /** Sorted so that the next one is last. */
  readonly #due: { readonly atMs: number; readonly work: () => void }[] = [];

  constructor(startMs: number) {
    this.nowMs = startMs;
  }

  /** Schedules work. Work that is due at the same moment is done in the order of these calls. */
  after(ms: number, work: () => void): void {
    const atMs = this.nowMs + ms;
    let place = this.#due.length;
    while (place > 0 && (this.#due[place - 1]?.atMs ?? 0) <= atMs) place -= 1;
    this.#due.splice(place, 0, { atMs, work });
  }

  wait(ms: number): Promise<void> {
    return new Promise((resolve) => this.after(ms, resolve));
  }

  /** Lets time pass until the promise settles. */
  async runUntil<T>(end: Promise<T>): Promise<T> {
    let isOver = false;
    const over = () => {
      isOver = true;
    };
    end.then(over, over);
    for (;;) {
      await drained();
      if (isOver) return end;
      const next = this.#due.pop();
      if (next === undefined) throw new Error('nothing is to come, and the end has not come');
      this.nowMs = next.atMs;
      next.work();
    }
  }
}

/** Resolves when no code can run without time passing: a tick comes once no promise is left to settle. */
function drained(): Promise<void> {
  return new Promise((resolve) => process.nextTick(resolve));
}

/** A process on virtual time. Once it is over, none of its waits ends and none of its work is done. */
export class Life {
  readonly name: string;
  isOver = false;
  #frozenUntilMs = 0;
  readonly #time: VirtualTime;
  readonly #stopping = new AbortController();

  constructor(name: string, time: VirtualTime) {
    this.name = name;
    this.#time = time;
  }

  get signal(): AbortSignal {
    return this.#stopping.signal;
  }

  nowMs(): number {
    return this.#time.nowMs;
  }

  after(ms: number, work: () => void): void {
    this.#time.after(ms, () => {
      if (this.isOver) return;
      if (this.#time.nowMs < this.#frozenUntilMs) this.after(this.#frozenUntilMs - this.#time.nowMs, work);
      else work();
    });
  }

  /** Pauses the process for this long. Requests that it has sent are served meanwhile. */
  freeze(forMs: number): void {
    this.#frozenUntilMs = Math.max(this.#frozenUntilMs, this.#time.nowMs + forMs);
  }

  delay(ms: number): Promise<void> {
    return new Promise((resolve) => this.after(ms, resolve));
  }

  /** Resolves at once when the signal is aborted. */
  wait(ms: number, signal: AbortSignal = this.signal): Promise<void> {
    if (signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const wake = () => {
        signal.removeEventListener('abort', wake);
        resolve();
      };
      signal.addEventListener('abort', wake, { once: true });
      this.after(ms, wake);
    });
  }

  kill(): void {
    this.isOver = true;
  }

  /** Asks the process to stop, and kills it after this long. */
  stop(withinMs: number): void {
    this.#stopping.abort();
    this.after(withinMs, () => this.kill());
  }
}
