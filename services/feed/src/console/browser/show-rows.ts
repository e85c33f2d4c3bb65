import { html, nothing, type TemplateResult } from 'lit-html';
import { repeat } from 'lit-html/directives/repeat.js';
import type { Page } from './state.js';
import { shorten } from './tell-amounts.js';

export type Content = string | TemplateResult;

export interface Row {
  readonly key: string;
  readonly cells: readonly Content[];
  readonly className?: string;
}

/** A table, if there is anything to show. Rows keep their elements, so that focus and selection stay where they are. */
export function table(name: string, columns: readonly string[], rows: readonly Row[], className = ''): TemplateResult {
  if (rows.length === 0) return html`<p>–</p>`;
  const head = columns.map((column) => html`<th scope="col">${column}</th>`);
  const row = ({ key, cells, className = '' }: Row) =>
    html`<tr data-key=${key} class=${className}>${cells.map((cell) => html`<td>${cell}</td>`)}</tr>`;
  return html`
    <figure tabindex="0" aria-label=${name}>
      <table class=${className}><thead><tr>${head}</tr></thead><tbody>${repeat(rows, ({ key }) => key, row)}</tbody></table>
    </figure>`;
}

/** A list of names with their values. */
export const facts = (pairs: readonly (readonly [name: string, value: Content])[]) =>
  html`<dl>${pairs.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`;

export const linkTo = (view: 'order' | 'maker', hex: string) =>
  html`<a href="#${view}/${hex}" title=${hex}>${shorten(hex)}</a>`;

/** A link to an external page, if the operator has named one. */
export function linkOut({ state }: Page, kind: string, id: string, text = id): Content {
  const address = state?.links[kind]?.replace('{}', id);
  return html`<a href=${address ?? nothing} title=${id}>${text}</a>`;
}

/** A text with a button that copies it. */
export function copyable(text: string): TemplateResult {
  const copy = async ({ currentTarget }: Event) => {
    const button = currentTarget as HTMLButtonElement;
    await navigator.clipboard?.writeText(text);
    button.textContent = navigator.clipboard === undefined ? 'Not allowed here' : 'Copied';
    setTimeout(() => button.replaceChildren('Copy'), 1_500);
  };
  return html`<code>${text}</code> <button type="button" @click=${copy}>Copy</button>`;
}

/**
 * Asks for JSON while a view shows it: at once, and then after each `everyMs`.
 * @returns a function that gives the newest answer, or a text that says why there is none
 */
export function keepAsking<T extends object>({ ask }: Page, everyMs = 2_000): (path: string) => T | string {
  let [asked, nextAtMs] = ['', 0];
  let answer: T | string = '';
  const askOnce = async (path: string) => {
    const reply = await ask(path);
    const told = await reply.json();
    if (asked === path) answer = reply.ok ? told : told.detail;
  };
  return (path) => {
    if (path !== asked) [asked, nextAtMs, answer] = [path, 0, 'Reading it …'];
    // A request without an answer is sent again.
    if (performance.now() < nextAtMs) return answer;
    nextAtMs = performance.now() + everyMs;
    askOnce(path).catch(() => {
      if (typeof answer === 'string') answer = 'No answer: asking again.';
    });
    return answer;
  };
}
