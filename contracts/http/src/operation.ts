import type { z } from 'zod';
import type { ProblemCode } from './problems.js';

/** Why an error is answered, and what the client can do about it: a sentence or two each. */
export interface ErrorCase {
  readonly cause: string;
  readonly remedy: string;
}

/** The errors of an operation, in the order in which the service checks for them. */
export type ErrorCases = Readonly<Partial<Record<ProblemCode, ErrorCase>>>;

/** A body of a request or of an answer. */
export interface Content {
  readonly type: 'application/json' | 'application/x-ndjson' | 'text/plain' | 'text/html' | 'text/event-stream';
  readonly schema: z.ZodType;
  readonly example?: unknown;
}

/** A method of the interface. HEAD and OPTIONS follow from the others. */
export type Method = 'GET' | 'POST' | 'DELETE' | 'PATCH';

/** One method at one path: what it takes, what it answers with 200, and every error that it can answer. */
export interface Operation {
  readonly method: Method;
  readonly path: string;
  /** The section of the interface that describes it. */
  readonly section: string;
  readonly tag: 'Limit orders' | 'Book' | 'Quotes' | 'Documents';
  readonly summary: string;
  readonly description: string;
  /** The `{names}` of the path. */
  readonly params?: z.ZodObject;
  readonly query?: z.ZodObject;
  readonly headers?: z.ZodObject;
  readonly body?: Content;
  readonly answer: Content & {
    readonly description: string;
    readonly headers?: z.ZodObject;
    /** What 304 means, if a request may name the `ETag` that it has. */
    readonly notModified?: string;
  };
  readonly errors: ErrorCases;
}
