import type { BookEntry } from '@makerbook/contracts-events';
import { html } from 'lit-html';
import type { Page } from './page.js';
import { fundingOf, tellFunds } from './show-order.js';
import { tableOf } from './show-pairs.js';
import { copyable, facts, keepAsking, table } from './show-rows.js';
import type { View } from './state.js';
import type { Tokens } from './tell-amounts.js';

/** Each starts a command of the operator. */
const ASK_DECISIONS_MS = 20_000;
const COMMANDS = ['history', 'suspend', 'add', 'remove', 'release', 'set --open-orders 2000'];

/** What an operator's decision has, as `makers history --json` tells it. */
const DECISION = ['at', 'type', 'limits', 'by', 'reason'];

type Told = Readonly<Record<string, unknown>>;

/** The view of one maker: by the book, by query where it is asked, and on a local stack by the operator's command. */
export function openMaker(page: Page): View {
  const ask = keepAsking<Told>(page);
  const askDecisions = keepAsking<Told[]>(page, ASK_DECISIONS_MS);
  return (maker) => {
    const entries = [...page.book.entries.values()].filter(({ order }) => order.maker === maker);
    const isLocal = page.localFolder !== undefined;
    const report = ask(`/console/makers/${maker}`);
    const decisions = isLocal ? askDecisions(`/local/makers/${maker}/decisions`) : 'The first command shows them.';
    const command = isLocal ? `MAKERBOOK_DATA='${page.localFolder}' npm run makers --` : 'operator makers';
    // `openOrdersMax` is told as `open orders max`.
    const limits = Object.entries(typeof report === 'object' ? report : { limits: report }).map(
      ([name, value]) => [name.replace(/[A-Z]/g, ' $&').toLowerCase(), tellValue(value)] as const,
    );
    const decided = typeof decisions === 'object' ? decisions : [{ type: decisions }];
    const rows = decided.map((told: Told, n) => ({
      key: `${n}`,
      cells: DECISION.map((name) => tellValue(name === 'limits' ? JSON.stringify(told[name]) : told[name])),
    }));
    return html`
      <h1>Maker</h1>
      <p><code>${maker}</code></p>
      <div id="limits">${facts(limits)}</div>
      <h2>Funds</h2>
      ${table('Funds', ['Token', 'Orders need', 'Balance', 'Allowance', 'Covered'], listFunds(page.tokens, entries), 'numbers')}
      <h2>Orders</h2>
      ${tableOf(page, 'Orders of the maker', entries)}
      <h2>Decisions</h2>
      ${table('Decisions', DECISION, rows)}
      <h2>Commands of the operator</h2>
      <ul>${COMMANDS.map((words) => html`<li>${copyable(`${command} ${words} ${maker}`)}</li>`)}</ul>`;
  };
}

const tellValue = (value: unknown): string => String(value ?? '') || '–';

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
