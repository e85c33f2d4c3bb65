import type { Interface } from './call-service.js';
import { openPanel } from './panel.js';

/** How often clock and block are read while the page is seen. */
const REFRESH_MS = 5_000;

/** The part of GET …/info that changes. */
interface Moment {
  readonly serverTime: number;
  readonly block: { readonly number: number } | null;
}

const baseUrl = location.origin;
const given = JSON.parse(document.getElementById('interface')?.textContent ?? '') as Interface;

for (const place of document.querySelectorAll('code.base')) place.textContent = baseUrl;
for (const code of document.querySelectorAll('pre code')) {
  if (code.textContent.includes('BASE_URL')) code.textContent = code.textContent.replace("'BASE_URL'", `'${baseUrl}'`);
}
for (const figure of document.querySelectorAll<HTMLElement>('figure.code')) addCopyButton(figure);
openPanel(given, baseUrl);
markSections();
void showMoment();
setInterval(() => document.visibilityState === 'visible' && void showMoment(), REFRESH_MS);
// On a narrow screen the contents are closed until they are wanted.
if (matchMedia('(max-width: 1079px)').matches) document.querySelector('nav details')?.removeAttribute('open');

function addCopyButton(figure: HTMLElement): void {
  const button = document.createElement('button');
  button.type = 'button';
  button.className = 'copy';
  button.textContent = 'Copy';
  button.addEventListener('click', async () => {
    await navigator.clipboard?.writeText(figure.querySelector('pre')?.textContent ?? '');
    button.textContent = navigator.clipboard === undefined ? 'Not allowed here' : 'Copied';
    setTimeout(() => {
      button.textContent = 'Copy';
    }, 1500);
  });
  figure.append(button);
}

/** Marks in the contents what is read. */
function markSections(): void {
  const links = new Map(
    [...document.querySelectorAll<HTMLAnchorElement>('nav li a')].map((link) => [link.hash.slice(1), link]),
  );
  const seen = new Set<string>();
  const observer = new IntersectionObserver(
    (entries) => {
      for (const { target, isIntersecting } of entries) isIntersecting ? seen.add(target.id) : seen.delete(target.id);
      const current = [...links.keys()].filter((id) => seen.has(id)).at(-1);
      for (const [id, link] of links) link.toggleAttribute('aria-current', id === current);
    },
    { rootMargin: '-20% 0px -70% 0px' },
  );
  for (const id of links.keys()) {
    const section = document.getElementById(id);
    if (section !== null) observer.observe(section);
  }
}

/** The newest block, and the service's clock beside that of this machine. */
async function showMoment(): Promise<void> {
  const [block, clock] = [document.getElementById('block'), document.getElementById('clock')];
  if (block === null || clock === null) return;
  try {
    const response = await fetch(given.paths.info, { cache: 'no-store' });
    const { serverTime, block: newest } = (await response.json()) as Moment;
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
