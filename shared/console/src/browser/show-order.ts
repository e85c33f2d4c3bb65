import type { BookEntry } from '@makerbook/contracts-events';
import { addCopyButton, fillRows, find, say } from './elements.js';
import { describeOffer, marketOf } from './list-markets.js';
import { nameOf, rowOfOffer, statusOf } from './show-pairs.js';
import type { Page } from './state.js';
import { type Tokens, tellPrice } from './tell-amounts.js';

type Funding = Extract<BookEntry, { funding: object }>['funding'];

const COMMANDS = ['history', 'suspend', 'add', 'release'] as const;
const timeOf = (ms: number) => new Date(ms).toISOString().replace('T', ' ').slice(0, 19);
const fundingOf = (entry: BookEntry) => (entry.status === 'VALIDATING' ? undefined : entry.funding);

/** The view of one order. */
export function showOrder(page: Page, hash: string): void {
  const entry = page.book.entries.get(hash);
  const story = page.book.stories.get(hash) ?? [];
  say('order-name', hash);
  say('order-said', entry === undefined ? 'It is not in the book now.' : '');
  const terms = entry === undefined ? [] : describeTerms(page, entry);
  fillRows(
    'terms',
    terms.map(([name, text, href]) => ({ key: name, cells: [name, { text, href }] })),
  );
  find('no-story').hidden = story.length > 0;
  fillRows(
    'story',
    story.map(({ atMs, what, causes, remaining, block = '–', fact }, n) => {
      const left = remaining === undefined ? '–' : page.tokens.tell(remaining.amount, remaining.token);
      return {
        key: `${n} ${fact}`,
        cells: [timeOf(atMs), what, causes.join(', ') || '–', left, String(block), fact],
      };
    }),
  );
}

function describeTerms(page: Page, entry: BookEntry): [name: string, text: string, href?: string][] {
  const { tokens, book } = page;
  const { order, routableUntil, acceptedAtMs, position } = entry;
  const { making, taking, maker, expiresAt, nonce } = order;
  const market = marketOf(making.token, taking.token, tokens);
  const { price, share } = describeOffer(entry, tokens);
  const left = BigInt(entry.remainingMakingAmount);
  const funding = fundingOf(entry);
  return [
    ['Maker', maker, `#maker/${maker}`],
    ['Sells', tokens.tell(BigInt(making.amount), making.token)],
    ['For', tokens.tell(BigInt(taking.amount), taking.token)],
    ['Price', `${tellPrice(price)} in ${nameOf(page, market)}`, `#pairs/${market.key}`],
    ['Status', statusOf(entry)],
    ['Left', `${tokens.tell(left, making.token)}, ${(share * 100).toFixed(2)} %`],
    ['Filled', tokens.tell(BigInt(making.amount) - left, making.token)],
    [
      'Judged by',
      `${tellFunds(tokens, making.token, funding).join(', allowance ')}, at block ${funding?.block ?? '–'}`,
    ],
    ['Accepted', timeOf(acceptedAtMs)],
    ['Expires', timeOf(Number(expiresAt) * 1000)],
    ['Used until', timeOf(routableUntil * 1000)],
    ['Nonce', String(BigInt(nonce))],
    ['Last fact', `${position.partition}:${position.offset}`],
    ['Partition', `${position.partition}, ${book.isStale(entry, page.when()) ? 'stale' : 'fresh'}`],
  ];
}

/** Balance and allowance. */
function tellFunds(tokens: Tokens, token: string, funding: Funding | undefined): [balance: string, allowance: string] {
  if (funding === undefined) return ['not read yet', 'not read yet'];
  const [balance, allowance] = [BigInt(funding.balance), BigInt(funding.allowance)];
  return [tokens.tell(balance, token), allowance >= 2n ** 255n ? 'unlimited' : tokens.tell(allowance, token)];
}

/** The view of one maker. @returns draws it */
export function openMaker(page: Page): (maker?: string) => void {
  for (const command of COMMANDS) addCopyButton(`command-${command}`);
  return (maker = '') => {
    const entries = [...page.book.entries.values()].filter(({ order }) => order.maker === maker);
    say('maker-name', maker);
    say(
      'maker-said',
      entries.length === 1 ? '1 open order in the book.' : `${entries.length} open orders in the book.`,
    );
    fillRows(
      'maker-orders',
      entries.map((entry) => {
        const { making, taking } = entry.order;
        const { cells, ...row } = rowOfOffer(page, describeOffer(entry, page.tokens));
        const pair = nameOf(page, marketOf(making.token, taking.token, page.tokens));
        return { ...row, cells: [...cells.slice(0, 1), pair, ...cells.slice(1, 4), ...cells.slice(5)] };
      }),
    );
    fillRows('funds', listFunds(page.tokens, entries));
    const folder = page.localFolder === undefined ? '' : `MAKERBOOK_DATA='${page.localFolder}' `;
    for (const command of COMMANDS) say(`command-${command}`, `${folder}npm run makers -- ${command} ${maker}`);
  };
}

/** By token that the maker sells: what its orders need, and its newest funds. */
function listFunds(tokens: Tokens, entries: readonly BookEntry[]) {
  return [...Map.groupBy(entries, ({ order }) => order.making.token)].map(([token, all]) => {
    const needed = all.reduce((sum, { remainingMakingAmount }) => sum + BigInt(remainingMakingAmount), 0n);
    const funding = all.map(fundingOf).reduce((one, other) => ((other?.block ?? 0) > (one?.block ?? 0) ? other : one));
    const [balance, allowance] = [BigInt(funding?.balance ?? 0), BigInt(funding?.allowance ?? 0)];
    const lacking = needed - (balance < allowance ? balance : allowance);
    const covered = lacking <= 0n ? '✓ covers all' : `✕ lacks ${tokens.tell(lacking, token)}`;
    const cells = [tokens.of(token).symbol, tokens.tell(needed, token), ...tellFunds(tokens, token, funding), covered];
    return { key: token, cells };
  });
}

/** Goes to an order or a maker that is looked for. */
export function openSearch(): void {
  find('search', HTMLFormElement).addEventListener('submit', (event) => {
    event.preventDefault();
    const text = find('words', HTMLInputElement).value.trim().toLowerCase();
    const view = /^0x[0-9a-f]{64}$/.test(text) ? 'order' : /^0x[0-9a-f]{40}$/.test(text) ? 'maker' : undefined;
    if (view !== undefined) location.hash = `${view}/${text}`;
    say('search-said', view === undefined ? 'An order hash has 64 hex digits, a maker 40.' : '');
  });
}
