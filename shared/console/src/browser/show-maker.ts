import type { BookEntry } from '@makerbook/contracts-events';
import { html } from 'lit-html';
import { fundingOf, tellFunds } from './show-order.js';
import { rowOfOffer } from './show-pairs.js';
import { copyable, facts, keepAsking, table } from './show-rows.js';
import type { Page, View } from './state.js';
import type { Tokens } from './tell-amounts.js';

const COMMANDS = ['history', 'suspend', 'add', 'remove', 'release', 'set --open-orders 2000'];

/** An operator's decision, as `makers history --json` has it. */
interface Decision {
  readonly at: string;
  readonly type: string;
  readonly by?: string;
  readonly reason?: string;
  readonly limits?: object;
}

/** The view of one maker: by the book, by query where it is asked, and on a local stack by the operator's command. */
export function openMaker(page: Page): View {
  const [ask, askDecisions] = [keepAsking<Record<string, unknown>>(page), keepAsking<Decision[]>(page)];
  return (maker) => {
    const entries = [...page.book.entries.values()].filter(({ order }) => order.maker === maker);
    const isLocal = page.localFolder !== undefined;
    const report = page.state?.hasHistory
      ? ask(`/console/makers/${maker}`, String(entries.length))
      : 'Limits need query among the processes of CONSOLE_METRICS.';
    const decisions = isLocal ? askDecisions(`/local/makers/${maker}/decisions`) : 'The first command shows them.';
    const command = isLocal ? `MAKERBOOK_DATA='${page.localFolder}' npm run makers --` : 'operator makers';
    const orders = entries.map((entry) => rowOfOffer(page, entry));
    return html`
      <h1>Maker</h1>
      <p><code>${maker}</code></p>
      <p>${entries.length === 1 ? '1 open order' : `${entries.length} open orders`} in the book.</p>
      <div id="limits">${typeof report === 'object' ? facts(Object.entries(report).map(tellFact)) : report}</div>
      <h2>Funds</h2>
      ${table('Funds', ['Token', 'Orders need', 'Balance', 'Allowance', 'Covered'], listFunds(page.tokens, entries), 'numbers')}
      <h2>Orders</h2>
      ${table('Orders of the maker', ['Side', 'Pair', 'Price', 'Left', 'Status', 'Maker', 'Order'], orders)}
      <h2>Decisions</h2>
      ${typeof decisions === 'object' ? table('Decisions', ['At (UTC)', 'Decision', 'By', 'Why'], decisions.map(rowOf)) : decisions}
      <h2>Commands of the operator</h2>
      <ul>${COMMANDS.map((words) => html`<li>${copyable(`${command} ${words} ${maker}`)}</li>`)}</ul>`;
  };
}

/** `openOrdersMax` is told as `Open orders max`. */
function tellFact([name, value]: readonly [string, unknown]): [string, string] {
  const words = name
    .replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)
    .replace(/^./, (letter) => letter.toUpperCase());
  return [words, value === null || String(value) === '' ? 'none' : String(value)];
}

function rowOf({ at, type, by = '–', reason = '–', limits }: Decision) {
  const what = limits === undefined ? type : `${type} ${JSON.stringify(limits)}`;
  return { key: at + type, cells: [at.replace('T', ' ').slice(0, 19), what, by, reason] };
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
