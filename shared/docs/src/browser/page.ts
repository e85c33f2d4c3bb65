import type { Info } from '@makerbook/contracts-http';
import { paths } from '@makerbook/contracts-http/paths';
import { element, find } from './elements.js';

/** How often clock and block are read while the page is seen. */
const REFRESH_MS = 5_000;
const RESULTS_MAX = 12;

/** A section of the pages, as search.json has it. */
interface Section {
  readonly path: string;
  readonly title: string;
  readonly text: string;
}

nameBaseUrl();
for (const figure of document.querySelectorAll<HTMLElement>('figure.code')) addCopyButton(figure);
openSearch();
if (document.getElementById('block') !== null) {
  void showMoment();
  setInterval(() => document.visibilityState === 'visible' && void showMoment(), REFRESH_MS);
}

/** Puts the address of this service into the programs. */
function nameBaseUrl(): void {
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode() !== null) {
    const text = texts.currentNode as Text;
    if (text.data.includes('BASE_URL')) text.data = text.data.replaceAll('BASE_URL', location.origin);
  }
}

function addCopyButton(figure: HTMLElement): void {
  const button = element('button', { type: 'button', className: 'copy' }, 'Copy');
  button.addEventListener('click', async () => {
    await navigator.clipboard?.writeText(figure.querySelector('pre')?.textContent ?? '');
    button.textContent = navigator.clipboard === undefined ? 'Not allowed here' : 'Copied';
    setTimeout(() => {
      button.textContent = 'Copy';
    }, 1500);
  });
  figure.append(button);
}

/** Lists the sections that have all words of the search, those with a word in their title first. */
function openSearch(): void {
  const form = find('search', HTMLFormElement);
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
      .map(({ path, title }) => element('li', {}, element('a', { href: path }, title)));
    const none = words.length > 0 && links.length === 0 ? [element('li', { className: 'hint' }, 'Nothing found')] : [];
    find('found').replaceChildren(...links, ...none);
  });
}

/** The newest block, and the service's clock beside that of this machine. */
async function showMoment(): Promise<void> {
  const [block, clock] = [find('block'), find('clock')];
  try {
    const response = await fetch(paths.info, { cache: 'no-store' });
    const { serverTime, block: newest } = (await response.json()) as Info;
    block.textContent = newest === null ? 'not known' : newest.number.toLocaleString('en-GB');
    const ahead = Math.round(Date.now() / 1000) - serverTime;
    const compared =
      Math.abs(ahead) <= 1 ? 'as yours' : `yours is ${Math.abs(ahead)} s ${ahead > 0 ? 'ahead' : 'behind'}`;
    clock.textContent = `${serverTime} (${compared})`;
  } catch {
    block.textContent = 'the service does not answer';
    clock.textContent = '–';
  }
}
