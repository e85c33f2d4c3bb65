import type { When } from '@makerbook/book/browser';
import type { TemplateResult } from 'lit-html';
import type { FoldedBook } from './fold-records.js';
import type { Tokens } from './tell-amounts.js';

/** A token by its address, as people write it. */
export interface Token {
  readonly address: string;
  readonly symbol: string;
  readonly decimals: number;
}

/** What has a page elsewhere. */
export type Linked = 'runbook' | 'block' | 'transaction' | 'request';

/** The answer to GET /console/state, as the page shows it. */
export interface ConsoleState {
  readonly tokens: readonly Token[];
  readonly staleSecondsMax: number;
  /** Addresses of pages elsewhere; `{}` stands for what they are about. */
  readonly links: Readonly<Partial<Record<Linked, string>>>;
  /** Orders and makers can be asked for: there is a query to ask. */
  readonly hasHistory: boolean;
  /** What is not well, and the alert whose section of the runbook says what to do. */
  readonly unwell: readonly { readonly what: string; readonly alert: string }[];
  /** By partition: the projector that works on it, and how many messages it is behind. */
  readonly owners: Readonly<Record<string, readonly [owner: string, lag: number]>>;
  readonly facts: readonly (readonly [name: string, value: string])[];
  /** The first cell of a row names it. */
  readonly tables: readonly (readonly [title: string, columns: string[], rows: readonly string[][]])[];
}

/** What all views of the page show. */
export interface Page {
  readonly book: FoldedBook;
  readonly tokens: Tokens;
  state: ConsoleState | undefined;
  /** The data folder, where `npm start` runs this on the same machine. */
  localFolder: string | undefined;
  readonly when: () => Required<When>;
  /** Asks the service, with the key of the reader. */
  readonly ask: (path: string, init?: RequestInit) => Promise<Response>;
}

/** Draws a view anew. @param argument what stands behind its name in the address */
export type View = (argument: string) => TemplateResult;
