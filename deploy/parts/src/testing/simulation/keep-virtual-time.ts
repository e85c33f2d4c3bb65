/** Time that passes only when everybody waits: works are done one after the other, each at its moment. */
export class VirtualTime {
  nowMs: number;
  /** The next one stands last. */
  readonly #due: { readonly atMs: number; readonly work: () => void }[] = [];

  constructor(startMs: number) {
    this.nowMs = startMs;
  }

  /** Works that are due at one moment are done in the order in which they were put off. */
  after(ms: number, work: () => void): void {
    const atMs = this.nowMs + ms;
    let place = this.#due.length;
    while (place > 0 && (this.#due[place - 1]?.atMs ?? 0) <= atMs) place -= 1;
    this.#due.splice(place, 0, { atMs, work });
  }

  wait(ms: number): Promise<void> {
    return new Promise((resolve) => this.after(ms, resolve));
  }

  /** Lets time pass until this has come to its end. */
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

/** Once nothing is left that can go on by itself: ticks come when no promise is left to be settled. */
function drained(): Promise<void> {
  return new Promise((resolve) => process.nextTick(resolve));
}

/** A process on virtual time. Once it is over nothing of it goes on, wherever it was. */
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

  /** Nothing of it goes on for so long; what it has sent is served meanwhile. */
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

  /** Asks it to stop, and ends it some time later. */
  stop(withinMs: number): void {
    this.#stopping.abort();
    this.after(withinMs, () => this.kill());
  }
}
