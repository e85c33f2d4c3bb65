import { html, type TemplateResult } from 'lit-html';
import { repeat } from 'lit-html/directives/repeat.js';
import type { Linked, Page } from './state.js';
import { shorten } from './tell-amounts.js';

export type Content = string | TemplateResult;

export interface Row {
  readonly key: string;
  readonly cells: readonly Content[];
  readonly className?: string;
}

/** A table. Rows keep their elements, so that focus and selection stay where they are. */
export function table(name: string, columns: readonly string[], rows: readonly Row[], className = ''): TemplateResult {
  const head = columns.map((column) => html`<th scope="col">${column}</th>`);
  const row = ({ key, cells, className = '' }: Row) =>
    html`<tr data-key=${key} class=${className}>${cells.map((cell) => html`<td>${cell}</td>`)}</tr>`;
  return html`
    <figure tabindex="0" aria-label=${name}>
      <table class=${className}><thead><tr>${head}</tr></thead><tbody>${repeat(rows, ({ key }) => key, row)}</tbody></table>
    </figure>`;
}

/** Names with what they stand for. */
export const facts = (pairs: readonly (readonly [name: string, value: Content])[]) =>
  html`<dl>${pairs.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`;

export const linkTo = (view: 'order' | 'maker', hex: string) =>
  html`<a href="#${view}/${hex}" title=${hex}>${shorten(hex)}</a>`;

/** A link to a page elsewhere, where the operator has named one. */
export function linkOut({ state }: Page, kind: Linked, id: string, text = id): Content {
  const address = state?.links[kind]?.replace('{}', id);
  return address === undefined
    ? html`<span title=${id}>${text}</span>`
    : html`<a href=${address} title=${id}>${text}</a>`;
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

const AGAIN_MS = 2_000;

/**
 * Asks for JSON, anew with each version: twice, for the rows come behind the book, and on until there is an answer.
 * @returns the newest answer; a text: why there is none; undefined: not yet
 */
export function keepAsking<T>({ ask }: Page): (path: string, version?: string) => T | string | undefined {
  let [asked, asks, nextAtMs]: [string | undefined, number, number] = [undefined, 0, 0];
  let answer: T | string | undefined;
  return (path, version = '') => {
    const wanted = `${path} ${version}`;
    if (wanted !== asked) asks = 0;
    else if (performance.now() < nextAtMs || (asks > 1 && typeof answer === 'object')) return answer;
    if (!asked?.startsWith(`${path} `)) answer = undefined;
    [asked, asks, nextAtMs] = [wanted, asks + 1, performance.now() + AGAIN_MS];
    const tell = (told: T | string) => {
      if (asked === wanted) answer = told;
    };
    ask(path)
      .then(async (reply) => tell(reply.ok ? await reply.json() : (await reply.json()).detail))
      .catch((error: unknown) => tell(String(error)));
    return answer;
  };
}
