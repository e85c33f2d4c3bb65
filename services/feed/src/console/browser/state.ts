import type { When } from '@makerbook/book/browser';
import type { TemplateResult } from 'lit-html';
import type { FoldedBook } from './fold-records.js';
import type { Tokens } from './tell-amounts.js';

/** The answer to GET /console/state, as the page shows it. */
export interface ConsoleState {
  /** Symbol, decimals and address of each. */
  readonly tokens: readonly string[][];
  readonly staleSecondsMax: number;
  /** Addresses of external pages, keyed by kind. `{}` stands for what a page is about. */
  readonly links: Readonly<Record<string, string>>;
  /** What is well or not, with the alert whose section of the runbook says what to do. */
  readonly checks: readonly { readonly isWell: boolean; readonly what: string; readonly alert: string }[];
  /** Keyed by partition: its projector, and how many messages that projector is behind. */
  readonly owners: Readonly<Record<string, readonly [owner: string, lag: number]>>;
  readonly facts: readonly (readonly [name: string, value: string])[];
  /** The first cell of a row names the row. */
  readonly tables: readonly (readonly [title: string, columns: string[], rows: readonly string[][]])[];
}

/** The data of all views. */
export interface Page {
  readonly book: FoldedBook;
  readonly tokens: Tokens;
  state: ConsoleState | undefined;
  /** When the state was read last, by `performance.now()`. */
  stateAtMs: number;
  /** The data folder, if `npm start` runs this on the same machine. */
  readonly localFolder: string | undefined;
  readonly when: () => Required<When>;
  readonly ask: (path: string, init?: RequestInit) => Promise<Response>;
}

/** Draws a view. @param argument what follows the view's name in the address */
export type View = (argument: string) => TemplateResult;
