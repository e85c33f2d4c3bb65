import type { Info } from '@makerbook/contracts-http';
import { paths } from '@makerbook/contracts-http/paths';
import { html, render } from 'lit-html';

/** How often to read clock and block while the page is visible. */
const REFRESH_MS = 5_000;
const COPIED_MS = 1_500;
const RESULTS_MAX = 12;

/** A section that the search can find, as search.json has it. */
export interface Section {
  readonly path: string;
  readonly title: string;
  readonly text: string;
}

nameBaseUrl();
for (const figure of document.querySelectorAll<HTMLElement>('figure.code')) addCopyButton(figure);
for (const form of document.querySelectorAll<HTMLFormElement>('search form')) openSearch(form);
const [block, clock] = ['block', 'clock'].map((id) => document.getElementById(id));
if (block && clock) {
  void showMoment(block, clock);
  setInterval(() => document.visibilityState === 'visible' && void showMoment(block, clock), REFRESH_MS);
}

/** Writes the address of this service into the programs. */
function nameBaseUrl(): void {
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode() !== null) {
    const text = texts.currentNode as Text;
    if (text.data.includes('BASE_URL')) text.data = text.data.replaceAll('BASE_URL', location.origin);
  }
}

function addCopyButton(figure: HTMLElement): void {
  const button = Object.assign(document.createElement('button'), { className: 'copy', textContent: 'Copy' });
  button.addEventListener('click', async () => {
    await navigator.clipboard?.writeText(figure.querySelector('pre')?.textContent ?? '');
    button.textContent = navigator.clipboard === undefined ? 'Not allowed here' : 'Copied';
    setTimeout(() => {
      button.textContent = 'Copy';
    }, COPIED_MS);
  });
  figure.append(button);
}

/** Lists the sections that contain all words of the search. Those with a word in their title come first. */
function openSearch(form: HTMLFormElement): void {
  let sections: Promise<readonly Section[]> | undefined;
  form.hidden = false;
  form.addEventListener('submit', (event) => event.preventDefault());
  form.addEventListener('input', async () => {
    sections ??= fetch(`${paths.docs}/search.json`).then((answer) => answer.json());
    const all = await sections;
    const words = String(new FormData(form).get('words')).toLowerCase().split(/\s+/).filter(Boolean);
    const has = (text: string) => (word: string) => text.toLowerCase().includes(word);
    const found = words.length === 0 ? [] : all.filter(({ text }) => words.every(has(text)));
    const isNamed = ({ title }: Section) => words.some(has(title));
    const links = found
      .sort((a, b) => Number(isNamed(b)) - Number(isNamed(a)))
      .slice(0, RESULTS_MAX)
      .map(({ path, title }) => html`<li><a href=${path}>${title}</a></li>`);
    const none = words.length > 0 && links.length === 0 ? html`<li class="hint">Nothing found</li>` : '';
    render([links, none], form.querySelector('ul') ?? form);
  });
}

/** Shows the newest block, and the service's clock beside that of this machine. */
async function showMoment(block: HTMLElement, clock: HTMLElement): Promise<void> {
  const answer = await fetch(paths.info, { cache: 'no-store' }).catch(() => undefined);
  block.textContent = 'the service does not answer';
  clock.textContent = '–';
  if (!answer?.ok) return;
  const { serverTime, block: newest } = (await answer.json()) as Info;
  block.textContent = newest === null ? 'not known' : newest.number.toLocaleString('en-GB');
  const ahead = Math.round(Date.now() / 1000) - serverTime;
  const side = ahead > 0 ? 'ahead' : 'behind';
  clock.textContent = `${serverTime} (${Math.abs(ahead) <= 1 ? 'as yours' : `yours is ${Math.abs(ahead)} s ${side}`})`;
}
