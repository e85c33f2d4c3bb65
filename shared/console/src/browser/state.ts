import type { FoldedBook, When } from './fold-records.js';
import type { Tokens } from './tell-amounts.js';

/** A token by its address, as people write it. */
export interface Token {
  readonly address: string;
  readonly symbol: string;
  readonly decimals: number;
}

/** The answer to GET /console/state, as the page shows it. */
export interface ConsoleState {
  readonly tokens: readonly Token[];
  readonly staleSecondsMax: number;
  /** What stands before the anchor of a runbook's section; empty: nothing is linked. */
  readonly runbooks: string;
  /** What is not well, and the alert whose section of the runbook says what to do. */
  readonly unwell: readonly { readonly what: string; readonly alert: string }[];
  /** By partition: the projector that works on it, and how many messages it is behind. */
  readonly owners: Readonly<Record<string, readonly [owner: string, lag: number]>>;
  /** By the id of the table: its rows. The first cell of a row names it. */
  readonly tables: Readonly<Record<string, readonly (readonly string[])[]>>;
  /** By the id of the element. */
  readonly texts: Readonly<Record<string, string>>;
}

/** What all views of the page show. */
export interface Page {
  readonly book: FoldedBook;
  readonly tokens: Tokens;
  state: ConsoleState | undefined;
  /** The data folder, where `npm start` runs this on the same machine. */
  localFolder: string | undefined;
  readonly when: () => When;
  /** Asks the service, with the key of the reader. */
  readonly ask: (path: string, init?: RequestInit) => Promise<Response>;
}
