import { bytesToHex, createOrderHasher, limitOrderProtocolFragments } from '@makerbook/contracts-evm';
import { type Info, paths } from '@makerbook/contracts-http';
import type { Section } from './browser/page.js';
import { describeLimits, describeOperations, describeTokens, jsonBlock } from './describe-operations.js';
import { beside, own, readText } from './read-files.js';
import { escapeHtml, renderMarkdown } from './render-markdown.js';

/** The values of this deployment. The pages consist of these and of the contracts. */
export interface Deployment {
  /** GET …/info without the fields that change while the service runs. */
  readonly info: Omit<Info, 'serverTime' | 'block'>;
  /** `limit-orders.book.v1`, with its prefix. */
  readonly bookTopic: string;
  readonly partitions: number;
}

interface Page {
  readonly path: string;
  readonly title: string;
  /** HTML. */
  readonly content: string;
}

const asset = (name: string) => readText(own(`assets/${name}`));
const readme = (name: string) => readText(beside(name, '../README.md'));

/**
 * Renders the whole pages, the page for an unknown path, and the sections for the search.
 * @param bookEntry a record of the book, as an example
 */
export function renderPages(deployment: Deployment, importMap: string, bookEntry: unknown) {
  const values = valuesOf(deployment, bookEntry);
  const page = (name: string, title: string, text: string): Page => {
    return { path: paths.docs + name, title, content: renderMarkdown(fill(text, values)) };
  };
  const pages = [
    page('', 'Start', asset('start.md')),
    page('/try', 'Try it', asset('try.md')),
    page('/makers', 'For makers', readme('@makerbook/contracts-http')),
    page('/endpoints', 'Endpoints', asset('endpoints.md')),
    page('/routers', 'For routers', readme('@makerbook/contracts-events') + asset('routers.md')),
  ];
  const scripts = `<script type="importmap">${importMap}</script>`;
  const whole = (page: Page) =>
    fill(asset('page.html'), { ...values, ...page, scripts, contents: renderContents(pages, page) });
  const absent = '<h1>There is no such page</h1><p>The contents list all pages.</p>';
  return {
    pages: pages.map((page) => ({ path: page.path, html: whole(page) })),
    absent: whole({ path: '', title: 'No such page', content: absent }),
    sections: pages.flatMap(sectionsOf),
  };
}

/** The values of this deployment, keyed by the names that the assets use. */
function valuesOf({ info, bookTopic, partitions }: Deployment, bookEntry: unknown): Readonly<Record<string, string>> {
  const { serviceName, chainId, limits, contracts, domains, tokens } = info;
  const { limitOrderProtocol, navigator } = contracts;
  const verifyingContract = limitOrderProtocol as `0x${string}`;
  const programs = ['order.mjs', 'order.py', 'order.sh', 'fill.mjs'].map((name) => {
    return [name, `\`\`\`${name.split('.')[1]} ${name}\n${asset(name).trimEnd()}\n\`\`\``];
  });
  return {
    serviceName: escapeHtml(serviceName),
    chainId: String(chainId),
    limitOrderProtocol,
    navigator,
    bookTopic: escapeHtml(bookTopic),
    partitions: String(partitions),
    gracePeriodSeconds: String(limits.gracePeriodSeconds),
    domain: jsonBlock('The domain of an order', domains.order),
    domainSeparator: bytesToHex(createOrderHasher({ serviceName, chainId, verifyingContract }).domainSeparator),
    operations: describeOperations(),
    limits: describeLimits(limits),
    tokens: describeTokens(tokens),
    bookEntry: jsonBlock('The value of a record', bookEntry),
    abi: `\`\`\`text As ethers and parseAbi of viem take it\n${limitOrderProtocolFragments.join('\n')}\n\`\`\``,
    ...Object.fromEntries(programs),
  };
}

function fill(template: string, values: Readonly<Record<string, string>>): string {
  return template.replace(/\{\{([\w.]+)\}\}/g, (_, name: string) => String(values[name]));
}

/** Links to all pages, and to the sections of the current page. */
function renderContents(pages: readonly Page[], current: Page): string {
  const items = pages.map((page) => {
    if (page !== current) return `<li><a href="${page.path}">${page.title}</a></li>`;
    const sections = [...page.content.matchAll(/<h2 id="([^"]+)">(.*?)<\/h2>/g)].map(
      ([, id, words = '']) => `<li><a href="#${id}">${textOf(words)}</a></li>`,
    );
    return `<li><a href="${page.path}" aria-current="page">${page.title}</a><ul>${sections.join('')}</ul></li>`;
  });
  return items.join('\n');
}

/** The sections of a page, each from its heading up to the next. */
function sectionsOf({ path, title, content }: Page): Section[] {
  const found = content.matchAll(/<h[1-3] id="([^"]+)">(.*?)<\/h.*?(?=<h[1-3] id=|$)/gs);
  return [...found].map(([section, id, words = '']) => {
    return { path: `${path}#${id}`, title: `${title}: ${textOf(words)}`, text: textOf(section) };
  });
}

const textOf = (html: string) => html.replace(/(<[^>]+>|\s)+/g, ' ').trim();
