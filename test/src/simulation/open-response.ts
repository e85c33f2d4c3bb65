import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';

/** The client's side of a stream. It receives what is written until the client or the server ends it. */
export interface OpenResponse {
  readonly response: ServerResponse;
  isOpen(): boolean;
  leave(): void;
}

/** @param take receives what is written. It returns true if the client takes no more before `drain` */
export function openResponse(take: (text: string) => boolean): OpenResponse {
  const emitter = new EventEmitter();
  const leave = () => void emitter.emit('close');
  const response = Object.assign(emitter, {
    destroyed: false,
    writableEnded: false,
    writableNeedDrain: false,
    write: (text: string | Buffer) => {
      response.writableNeedDrain = take(String(text));
    },
    end: leave,
    destroy: leave,
  });
  emitter.once('close', () => {
    response.destroyed = true;
    response.writableEnded = true;
  });
  emitter.on('drain', () => {
    response.writableNeedDrain = false;
  });
  return { response: response as unknown as ServerResponse, isOpen: () => !response.destroyed, leave };
}
