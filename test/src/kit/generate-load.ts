import { type ChildProcess, fork } from 'node:child_process';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { openSender, type PreparedRequest } from './send-requests.js';

/** The result of requests that were all answered as expected. */
interface Sent {
  /** Milliseconds of each request, from when it was due until the last byte of its answer. */
  readonly latencyMs: readonly number[];
  /** Time from the first request until the last answer. */
  readonly seconds: number;
}

/** Keeps this many requests in flight. Shows what a service can do, but gives no latency to go by. */
type AtOnce = { readonly atOnce: number };
/** Sends each request when it is due, answers or not. A slow answer delays no later request, and counts in full. */
type AtPace = { readonly perSecond: number };

export type Pace = ReturnType<typeof beginAtPace>;

/**
 * Begins the work this many times a second in this process, even if earlier work hangs. What a busy machine misses is
 * left out: to make up for it would leave the process no time for answers.
 */
export function beginAtPace(perSecond: number, work: () => Promise<void>) {
  const inFlight = new Set<Promise<void>>();
  let failure: { readonly error: unknown } | undefined;
  let isOn = true;
  const begin = () => {
    const one: Promise<void> = work()
      .catch((error: unknown) => {
        failure ??= { error };
      })
      .finally(() => inFlight.delete(one));
    inFlight.add(one);
  };
  const beginning = (async () => {
    const everyMs = 1000 / perSecond;
    let dueAtMs = performance.now();
    while (isOn) {
      begin();
      const nowMs = performance.now();
      dueAtMs = Math.max(dueAtMs + everyMs, nowMs + everyMs / 2);
      await pause(dueAtMs - nowMs);
    }
  })();
  return {
    /** Begins nothing more, and waits for all that is in flight. @throws the first error of the work */
    async stop(): Promise<void> {
      isOn = false;
      await beginning;
      await Promise.all(inFlight);
      if (failure !== undefined) throw failure.error;
    },
  };
}

export type LoadGenerator = ReturnType<typeof openLoadGenerator>;

interface Job {
  readonly port: number;
  readonly requests: readonly PreparedRequest[];
  readonly how: AtOnce | AtPace;
}
type Outcome = Sent | { readonly failure: string };

/** Sends presigned requests from a child process. The child ends with the process that opens it. */
export function openLoadGenerator() {
  // Bodies cross as they are. A terminal's signals go to the bench, which closes the child.
  const child: ChildProcess = fork(fileURLToPath(import.meta.url), { serialization: 'advanced', detached: true });
  return {
    /** One call at a time. @throws Error with the first answer of another status */
    send(port: number, requests: readonly PreparedRequest[], how: AtOnce | AtPace): Promise<Sent> {
      return new Promise((resolve, reject) => {
        const onExit = (code: unknown) => reject(new Error(`the load generator has ended (${code})`));
        child.once('exit', onExit);
        child.once('message', (outcome: Outcome) => {
          child.off('exit', onExit);
          if ('failure' in outcome) reject(new Error(outcome.failure));
          else resolve(outcome);
        });
        child.send({ port, requests, how } satisfies Job);
      });
    },
    close: () => child.disconnect(),
  };
}

async function run({ port, requests, how }: Job): Promise<Sent> {
  const sender = openSender(port);
  const startedAt = performance.now();
  try {
    const latencyMs =
      'atOnce' in how
        ? await sendAtOnce(requests, how.atOnce, sender.send)
        : await sendAtPace(requests, how.perSecond, sender.send);
    return { latencyMs, seconds: (performance.now() - startedAt) / 1000 };
  } finally {
    sender.close();
  }
}

type Send = (request: PreparedRequest) => Promise<number>;

async function sendAtOnce(requests: readonly PreparedRequest[], atOnce: number, send: Send): Promise<number[]> {
  const tookMs: number[] = [];
  const left = requests.values();
  const worker = async () => {
    for (const each of left) tookMs.push(await send(each));
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  return tookMs;
}

/** The n-th request is due n / perSecond after the first. Lateness of this process counts too. */
async function sendAtPace(requests: readonly PreparedRequest[], perSecond: number, send: Send): Promise<number[]> {
  const answers: Promise<number>[] = [];
  const startedAtMs = performance.now();
  for (const [index, request] of requests.entries()) {
    const lateMs = await untilDue(startedAtMs, index, perSecond);
    const answer = send(request).then((tookMs) => tookMs + lateMs);
    // `Promise.all` takes the error once all are sent.
    answer.catch(() => undefined);
    answers.push(answer);
  }
  return Promise.all(answers);
}

/** Waits until the n-th request is due. @returns how many milliseconds late it is */
async function untilDue(startedAtMs: number, n: number, perSecond: number): Promise<number> {
  for (;;) {
    const leftMs = startedAtMs + (n * 1000) / perSecond - performance.now();
    if (leftMs <= 0) return -leftMs;
    await pause(leftMs);
  }
}

// This runs in the child process.
if (process.argv[1] === fileURLToPath(import.meta.url)) {
  process.on('message', (job: Job) => {
    void run(job).then(
      (sent) => process.send?.(sent satisfies Outcome),
      (error: unknown) => process.send?.({ failure: String(error) } satisfies Outcome),
    );
  });
  process.once('disconnect', () => process.exit());
}
