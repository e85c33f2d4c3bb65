import type { BookEntry } from '@makerbook/contracts-events';
import { html } from 'lit-html';
import { keepAskingFills, tableOfFills } from './show-fills.js';
import { fundingOf, tellFunds } from './show-order.js';
import { tableOf } from './show-pairs.js';
import { copyable, facts, keepAsking, linkTo, table } from './show-rows.js';
import type { Page, View } from './state.js';
import { type Tokens, tellTime } from './tell-amounts.js';

/** How often to ask for decisions. Each time a command of the operator starts. */
const ASK_DECISIONS_MS = 20_000;
const COMMANDS = ['history', 'suspend', 'add', 'remove', 'release', 'set --open-orders 2000'];

/** The fields of an operator's decision, as `makers history --json` has them. */
const DECISION = ['at', 'type', 'limits', 'by', 'reason'];

const CAP = ['Token', 'At most', 'In', 'Filled', 'Window ends (UTC)', 'Orders'];

type Told = Readonly<Record<string, unknown>>;

/** What query tells about a maker. The other fields are its limits. */
interface Report extends Told {
  readonly cancelKeys: readonly string[];
  /** It fires at `cancelAt`, in seconds since 1970. 0: never. */
  readonly switch: { readonly cancelAt: number; readonly key: string | null };
  readonly caps: readonly {
    readonly token: string;
    readonly amount: string;
    readonly windowSeconds: number;
    readonly filled: string;
    readonly untilSeconds: number;
  }[];
}

/** The view of one maker: the book, what query answers, and on a local stack the output of the operator's command. */
export function openMaker(page: Page): View {
  const ask = keepAsking<Report>(page);
  const askSalted = keepAsking<string[]>(page);
  const askFills = keepAskingFills(page, 1);
  const askDecisions = keepAsking<Told[]>(page, ASK_DECISIONS_MS);
  return (argument) => {
    const [maker = '', salt] = argument.split(':');
    const entries = [...page.book.entries.values()].filter(({ order }) => order.maker === maker);
    const isLocal = page.localFolder !== undefined;
    const report = ask(`/console/makers/${maker}`);
    const decisions = isLocal ? askDecisions(`/local/makers/${maker}/decisions`) : 'The first command shows them.';
    const command = isLocal ? `MAKERBOOK_DATA='${page.localFolder}' npm run makers --` : 'operator makers';
    // `openOrdersMax` is shown as `open orders max`.
    const { caps, ...told }: Partial<Report> = typeof report === 'object' ? report : { limits: report };
    const limits = Object.entries({ ...told, ...(told.switch && { switch: tellSwitch(page, told.switch) }) }).map(
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
      ${salt && showSalted(page, salt, entries, askSalted(`/console/makers/${argument}`))}
      <div id="limits">${facts(limits)}</div>
      <h2>Funds</h2>
      ${table('Funds', ['Token', 'Orders need', 'Balance', 'Allowance', 'Covered'], listFunds(page.tokens, entries), 'numbers')}
      <h2>Caps on fills</h2>
      ${caps === undefined ? html`<p>${report}</p>` : table('Caps', CAP, listCaps(page, caps), 'numbers')}
      <h2>Newest fills</h2>
      ${tableOfFills(page, 'Fills of the maker', askFills({ maker }))}
      <h2>Orders</h2>
      ${tableOf(page, 'Orders of the maker', entries)}
      <h2>Decisions</h2>
      ${table('Decisions', DECISION, rows)}
      <h2>Commands of the operator</h2>
      <ul>${COMMANDS.map((words) => html`<li>${copyable(`${command} ${words} ${maker}`)}</li>`)}</ul>`;
  };
}

/** The maker's orders with a salt, which the maker chooses: those in the book, and the others that query knows. */
function showSalted(page: Page, salt: string, entries: readonly BookEntry[], told: readonly string[] | string) {
  const open = entries.filter(({ order }) => order.salt === salt);
  const rest = typeof told === 'string' ? [] : told.filter((hash) => !page.book.entries.has(hash));
  return html`
    <h2>Orders with the salt ${salt}</h2>
    ${tableOf(page, 'Orders with the salt', open)}
    <p id="salted">${typeof told === 'string' ? told : `Not in the book: ${rest.length}`}</p>
    <ul>${rest.map((hash) => html`<li>${linkTo('order', hash)}</li>`)}</ul>`;
}

const tellValue = (value: unknown): string => String(value ?? '') || '–';

function tellSwitch({ when }: Page, { cancelAt, key }: Report['switch']): string {
  if (cancelAt === 0) return 'not set';
  const inSeconds = Math.round(cancelAt - when().nowSeconds);
  const time = `${tellTime(cancelAt * 1000)} UTC`;
  return `${inSeconds > 0 ? `fires in ${inSeconds} s, at ${time}` : `fired at ${time}`}${key === null ? '' : `, set by ${key}`}`;
}

/** How much of each cap is filled in its window. A window begins with the first fill. */
function listCaps({ tokens, when }: Page, caps: Report['caps']) {
  return caps.map(({ token, amount, windowSeconds, filled, untilSeconds }) => {
    const isOpen = untilSeconds > when().nowSeconds;
    const counted = isOpen ? BigInt(filled) : 0n;
    const isExceeded = counted > BigInt(amount);
    const cells = [
      tokens.of(token).symbol,
      tokens.tell(amount, token),
      `${windowSeconds} s`,
      tokens.tell(counted, token),
      isOpen ? tellTime(untilSeconds * 1000) : 'begins with a fill',
      isExceeded ? '✕ withheld' : '✓ in the book',
    ];
    return { key: token, className: isExceeded ? 'wrong' : '', cells };
  });
}

/** For each token that the maker sells: what its orders need, and the maker's newest funds. */
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
