import type { ServerResponse } from 'node:http';
import type { Reply } from './reply.js';

/** Does the work after the time, unless the returned function is called first. */
export type After = (ms: number, work: () => void) => () => void;

/** A client that reads nothing does not read the end of its stream either. It is cut after this time. */
const LINGER_MS = 500;

/** A timer of this process. */
export const startTimer: After = (ms, work) => {
  const timer = setTimeout(work, ms);
  return () => clearTimeout(timer);
};

/** The answer that opens a stream of server-sent events. */
export function streamReply(cacheControl: string, stream: (response: ServerResponse) => void): Reply {
  const headers = { 'Cache-Control': cacheControl, 'X-Accel-Buffering': 'no' };
  return { body: '', contentType: 'text/event-stream; charset=utf-8', headers, stream };
}

/** Server-sent events to one client. Writes after the end, or after the client has left, do nothing. */
export class EventStream<Reason extends string> {
  readonly response: ServerResponse;
  readonly #after: After;

  constructor(response: ServerResponse, after: After = startTimer) {
    this.response = response;
    this.#after = after;
  }

  isOpen(): boolean {
    return !this.response.destroyed && !this.response.writableEnded;
  }

  /** True if the client has not read what was written: more would stay in memory. */
  isFull(): boolean {
    return this.response.writableNeedDrain;
  }

  /** @param text whole events, or a comment for a proxy or client that cuts what is silent */
  write(text: string | Buffer): void {
    if (this.isOpen()) this.response.write(text);
  }

  /** Waits at most this long, and no longer than until `until` settles or the client leaves. */
  async wait(ms: number | undefined, until?: Promise<void>): Promise<void> {
    // A closed response does not emit `close` again.
    if (!this.isOpen()) return;
    const { promise: over, resolve } = Promise.withResolvers<void>();
    const callOff = ms === undefined ? undefined : this.#after(ms, resolve);
    this.response.once('close', resolve);
    await (until === undefined ? over : Promise.race([until, over]));
    this.response.off('close', resolve);
    callOff?.();
  }

  /** Ends the stream and says why, so that the client knows whether to come back with what it has. */
  end(reason: Reason): void {
    if (!this.isOpen()) return;
    const callOff = this.#after(LINGER_MS, () => this.response.destroy());
    this.response.once('close', callOff);
    this.response.end(`event: end\ndata: ${JSON.stringify({ reason })}\n\n`);
  }
}

/** The open streams of a process. */
export class OpenStreams<One extends { end(reason: 'stopping'): void }> {
  readonly all = new Set<One>();
  isStopped = false;

  /** Holds the stream until its client leaves. @param leave is called then */
  enter(one: One, { response }: EventStream<string>, leave: () => void): void {
    this.all.add(one);
    response.once('close', () => {
      this.all.delete(one);
      leave();
    });
  }

  /** Ends all streams. Their clients continue at another process. */
  stop(): void {
    this.isStopped = true;
    for (const one of this.all) one.end('stopping');
  }
}
