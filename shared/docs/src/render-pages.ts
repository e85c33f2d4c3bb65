import { bytesToHex, createOrderHasher, limitOrderProtocolFragments } from '@makerbook/contracts-evm';
import { type Info, paths, problemBody } from '@makerbook/contracts-http';
import { describeCodes, describeLimits, describeOperations, jsonBlock, type Markdown } from './describe-operations.js';
import { escapeHtml, type Html, renderMarkdown } from './render-markdown.js';

/** What the pages are made from besides the contracts: this deployment. */
export interface Deployment {
  /** GET …/info without what changes while the service runs. */
  readonly info: Omit<Info, 'serverTime' | 'block'>;
  /** `limit-orders.book.v1`, with its prefix. */
  readonly bookTopic: string;
  readonly partitions: number;
}

/** The texts of the pages. */
export interface Sources {
  /** The makers' guide and the routers', in Markdown. */
  readonly makers: Markdown;
  readonly routers: Markdown;
  /** A record of the book as the AsyncAPI document has it. */
  readonly bookEntry: unknown;
  /** A file of `assets/`. */
  readonly asset: (name: string) => string;
}

/** A section that the search finds. */
export interface Section {
  readonly path: string;
  readonly title: string;
  readonly text: string;
}

interface Page {
  readonly path: string;
  readonly title: string;
  readonly content: Html;
}

/** The pages, each whole, and what the search looks in. @throws Error where an asset has no value for one of its names */
export function renderPages(deployment: Deployment, importMap: string, { makers, routers, bookEntry, asset }: Sources) {
  const values = valuesOf(deployment, bookEntry);
  const program = (language: string, name: string) => `\`\`\`${language} ${name}\n${asset(name).trimEnd()}\n\`\`\``;
  const markdown = (text: string) => renderMarkdown(fill(text, values));
  const programs = { javascript: program('javascript', 'order.mjs'), python: program('python', 'order.py') };
  const start = fill(asset('start.md'), { ...values, ...programs, curl: program('bash', 'order.sh') });
  const pages: readonly Page[] = [
    { path: paths.docs, title: 'Start', content: renderMarkdown(start) },
    { path: `${paths.docs}/try`, title: 'Try it', content: fill(asset('panel.html'), values) },
    { path: `${paths.docs}/makers`, title: 'For makers', content: renderMarkdown(makers) },
    { path: `${paths.docs}/endpoints`, title: 'Endpoints', content: markdown(asset('endpoints.md')) },
    {
      path: `${paths.docs}/routers`,
      title: 'For routers',
      content: `${renderMarkdown(routers)}${markdown(asset('routers.md'))}${renderMarkdown(program('javascript', 'fill.mjs'))}`,
    },
  ];
  // In a block of JSON a `<` could end the block.
  const service = JSON.stringify(deployment.info).replaceAll('<', '\\u003c');
  const data = `<script type="importmap">${importMap}</script>
<script type="application/json" id="interface">${service}</script>`;
  const template = asset('page.html');
  return {
    pages: pages.map((page) => ({
      path: page.path,
      html: fill(template, { ...values, ...page, data, contents: renderContents(pages, page) }),
    })),
    searchIndex: pages.flatMap(sectionsOf),
  };
}

/** The name of each value of the assets, with its value for this deployment. */
function valuesOf({ info, bookTopic, partitions }: Deployment, bookEntry: unknown): Readonly<Record<string, string>> {
  const { serviceName, chainId, limits, contracts, domains } = info;
  const { limitOrderProtocol, navigator } = contracts;
  const verifyingContract = limitOrderProtocol as `0x${string}`;
  const problem = { detail: 'order 1 expired at 1799999999; the clock here is 1800000001', index: 1 };
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
    codes: describeCodes(),
    limits: describeLimits(limits),
    problem: jsonBlock(
      'The body of a 400',
      problemBody('order_expired', problem, '0d9c6e1e-5b0a-4b7e-9a52-2f1f1c5e7f10'),
    ),
    bookEntry: jsonBlock('The value of a record', bookEntry),
    abi: `\`\`\`text As ethers and parseAbi of viem take it\n${limitOrderProtocolFragments.join('\n')}\n\`\`\``,
  };
}

function fill(template: string, values: Readonly<Record<string, string>>): string {
  return template.replace(/\{\{(\w+)\}\}/g, (_, name: string) => {
    const value = values[name];
    if (value === undefined) throw new Error(`the page has no value for ${name}`);
    return value;
  });
}

/** Links to all pages, and below the current one to its sections. */
function renderContents(pages: readonly Page[], current: Page): Html {
  const items = pages.map((page) => {
    if (page !== current) return `<li><a href="${page.path}">${page.title}</a></li>`;
    const sections = [...page.content.matchAll(/<h2 id="([^"]+)">(.*?)<\/h2>/g)].map(
      ([, id, words = '']) => `<li><a href="#${id}">${words.replace(/<[^>]+>/g, '')}</a></li>`,
    );
    return `<li><a href="${page.path}" aria-current="page">${page.title}</a><ul>${sections.join('')}</ul></li>`;
  });
  return items.join('\n');
}

function sectionsOf({ path, title: pageTitle, content }: Page): Section[] {
  return content.split(/(?=<h[1-3] id=)/).flatMap((part) => {
    const [, id, words = ''] = /^<h[1-3] id="([^"]+)">(.*?)<\/h/.exec(part) ?? [];
    if (id === undefined) return [];
    const [title, text] = [words, part].map((html) => html.replace(/<[^>]+>/g, ' ').replace(/\s+/g, ' '));
    return [{ path: `${path}#${id}`, title: `${pageTitle}: ${title?.trim()}`, text: text ?? '' }];
  });
}
