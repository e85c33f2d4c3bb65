import { createClient, type LimitOrderRecord, type MakerbookClient, type TypedData } from '@makerbook/client';
import type { Info } from '@makerbook/contracts-http';
import { paths } from '@makerbook/contracts-http/paths';
import { BrowserProvider, type Eip1193Provider, formatUnits, parseUnits, type Signer, Wallet } from 'ethers';
import { html, nothing, render, type TemplateResult } from 'lit-html';

const KEPT = 'makerbook.throw-away-key';

/** What a local stack, started by `npm start`, tells the page. */
interface LocalStack {
  readonly folder: string;
  /** Undefined if the console is off. */
  readonly consoleUrl?: string;
}

const service = (await (await fetch(paths.info)).json()) as Info;
const told = await fetch('/local/stack.json').catch(() => undefined);
const stack = told?.ok ? ((await told.json()) as LocalStack) : undefined;
let client: MakerbookClient;
let maker = '';
/** The data that was signed last. It belongs to the next request. */
let signed = '';
let prepared = '';
let listed = '';
let orders: readonly LimitOrderRecord[] = [];
let sent = 0;
/** The tokens in the form, as typed. */
let [sold, bought]: string[] = service.tokens.map(({ address }) => address);
const shorten = (hex: string) => `${hex.slice(0, 10)}…${hex.slice(-6)}`;
await use(keySigner(false));
draw();

function show(id: string, drawn: TemplateResult): void {
  const element = document.getElementById(id);
  if (element !== null) render(drawn, element);
}

/** Draws the parts of the page that change. */
function draw(): void {
  const signing = html`
    <p>Maker <code>${maker}</code></p>
    <p><button type="button" @click=${act(() => use(keySigner(true)))}>New throw-away key</button>
      <button type="button" @click=${act(useWallet)}>Browser wallet</button></p>`;
  const listing = html`
    <p><button type="button" @click=${act(list)}>Sign and list</button>
      <span class="hint" role="status">${listed}</span></p>
    <figure tabindex="0" role="group" aria-label="Open orders" ?hidden=${orders.length === 0}>
      <table>
        <thead><tr><th>action</th><th>order</th><th>status</th><th>sells</th><th>for</th></tr></thead>
        <tbody>${orders.map(rowOf)}</tbody>
      </table>
    </figure>`;
  show('signer', signing);
  show('order', describeForm());
  show('orders', listing);
  if (stack !== undefined) show('local', offerHelp(stack));
}

/** Offers what a local stack does for the maker, and shows how to change the whitelist by hand. */
function offerHelp({ folder, consoleUrl }: LocalStack) {
  const command = `MAKERBOOK_DATA='${folder}' npm run makers -- add ${maker}`;
  const copy = () => navigator.clipboard.writeText(command);
  return html`
    <p>This is a local stack, with the data folder <code>${folder}</code>. It can give the maker all of that, and gas.
      ${consoleUrl && html`<a href=${consoleUrl}>The console</a> shows its book and its health.`}</p>
    <p><button type="button" @click=${act(prepare)}>Prepare this maker</button>
      <span class="hint" role="status">${prepared}</span></p>
    <p>The whitelist by hand, in the folder of the repository: <code>${command}</code>
      <button type="button" @click=${act(copy)}>Copy</button></p>`;
}

function describeForm() {
  const { tokens } = service;
  const amountOf = (token = '') => {
    const known = findToken(token);
    return `Amount, in ${known ? `${known.symbol} (${known.decimals} decimals)` : 'the smallest unit'}`;
  };
  const tokenOf = (words: string, token = '') =>
    `${words} token${findToken(token) ? `, ${findToken(token)?.symbol}` : ''}`;
  const [first, second] = tokens;
  return html`
    <form @submit=${act(place)} @input=${readTokens}>
      <div class="grid">
        ${input(tokenOf('Sell', sold), 'makingToken', first?.address, 'tokens')} ${input(amountOf(sold), 'makingAmount', '2', decimalsOf(sold))}
        ${input(tokenOf('Buy', bought), 'takingToken', second?.address, 'tokens')} ${input(amountOf(bought), 'takingAmount', '1', decimalsOf(bought))}
        ${input('Expires in, minutes', 'minutes', '60')} ${input('Nonce', 'nonce', '0')}
      </div>
      <datalist id="tokens">${tokens.map(({ symbol, address }) => html`<option value=${address}>${symbol}</option>`)}</datalist>
      <button type="submit">Sign and post</button>
    </form>`;
}

function findToken(token: string) {
  return service.tokens.find(({ address }) => address === token.trim().toLowerCase());
}

/** 0 for a token that the operator has not named: its amounts are in the smallest unit. */
function decimalsOf(token = ''): number {
  return findToken(token)?.decimals ?? 0;
}

function readTokens({ currentTarget }: Event): void {
  const fields = new FormData(currentTarget as HTMLFormElement);
  [sold, bought] = ['makingToken', 'takingToken'].map((name) => String(fields.get(name)));
  draw();
}

/** `1.5 WETH` */
function tellAmount(amount: string, token: string): string {
  const units = formatUnits(amount, decimalsOf(token)).replace(/\.0$/, '');
  return `${units} ${findToken(token)?.symbol ?? `of ${shorten(token)}`}`;
}

/** @param takes the id of a list of addresses to choose from, or the most decimals of a number */
function input(label: string, name: string, value = '', takes: string | number = 0) {
  const isNumber = typeof takes === 'number';
  const number = {
    pattern: `[0-9]+${takes === 0 ? '' : `([.][0-9]{1,${takes}})?`}`,
    title: `At most ${takes} decimals`,
  };
  const address = { pattern: '0x[0-9a-fA-F]{40}', title: 'An address: 0x and 40 hex digits' };
  const { pattern, title } = isNumber ? number : address;
  return html`<label>${label} <input name=${name} value=${value} list=${isNumber ? nothing : takes}
    inputmode=${isNumber ? 'decimal' : 'text'} pattern=${pattern} title=${title} required spellcheck="false"
    placeholder=${isNumber ? nothing : '0x…'}></label>`;
}

/** The button to cancel comes first, because the last column of a wide table is out of sight. */
function rowOf({ order, orderHash, ...state }: LimitOrderRecord) {
  const cancel = async () => {
    await client.cancelOrders([{ orderHash, order }]);
    await list();
  };
  return html`
    <tr>
      <td><button type="button" @click=${act(cancel)}>Cancel</button></td>
      <td><code title=${orderHash}>${shorten(orderHash)}</code></td>
      <td class=${state.status}>${state.status === 'INACTIVE' ? `INACTIVE: ${state.reason}` : state.status}</td>
      ${[order.making, order.taking].map(({ token, amount }) => html`<td title=${token}>${tellAmount(amount, token)}</td>`)}
    </tr>`;
}

/** Runs the work of a button or of the form. Shows the reason if it fails. */
function act(work: (event: Event) => Promise<void>) {
  return async (event: Event) => {
    event.preventDefault();
    await work(event).catch((error: unknown) => {
      listed = error instanceof Error ? error.message : 'The wallet refused.';
    });
    draw();
  };
}

/** A signer with the key that this browser keeps, or with a new one. */
function keySigner(isNew: boolean): Wallet {
  const key = (isNew ? null : localStorage.getItem(KEPT)) ?? Wallet.createRandom().privateKey;
  localStorage.setItem(KEPT, key);
  return new Wallet(key);
}

async function useWallet(): Promise<void> {
  const { ethereum } = window as { ethereum?: Eip1193Provider };
  if (ethereum === undefined) throw new Error('There is no wallet in this browser.');
  await use(await new BrowserProvider(ethereum).getSigner());
}

async function use(chosen: Signer): Promise<void> {
  maker = await chosen.getAddress();
  client = openClient(chosen);
  [prepared, listed, orders] = ['', '', []];
}

async function prepare(): Promise<void> {
  prepared = 'Sending …';
  draw();
  const answer = await fetch(`/local/makers/${maker}`, { method: 'PUT' });
  prepared = answer.ok
    ? 'It is on the whitelist, has gas and tokens, and has approved the contract.'
    : `Not done (${answer.status}): see the log of the gateway.`;
}

async function place({ target }: Event): Promise<void> {
  const fields = new FormData(target as HTMLFormElement);
  const text = (name: string) => String(fields.get(name)).trim();
  const amountOf = (side: string) => {
    const token = text(`${side}Token`);
    return { token, amount: parseUnits(text(`${side}Amount`), decimalsOf(token)) };
  };
  const order = await client.signOrder({
    making: amountOf('making'),
    taking: amountOf('taking'),
    expiresAt: Math.floor((await client.serverTimeMs()) / 1000) + 60 * Number(text('minutes')),
    nonce: text('nonce'),
  });
  await client.placeOrders([order]);
  await list();
}

async function list(): Promise<void> {
  const { records } = await client.listOrders();
  orders = records;
  listed = records.length === 1 ? '1 open order' : `${records.length} open orders`;
}

/** Opens a client for one signer. The client keeps the clock of the service. */
function openClient(signer: Signer): MakerbookClient {
  const onSign = (data: TypedData, digest: string) => {
    signed = `digest ${digest}\n\n${JSON.stringify(data, null, 2)}`;
  };
  const { limitOrderProtocol } = service.contracts;
  const baseUrl = location.origin;
  return createClient({ ...service, limitOrderProtocol, baseUrl, signer, onSign, fetch: fetchAndShow });
}

/** Sends a request. Shows it with the data signed for it and its answer. */
async function fetchAndShow(input: string | URL | Request, init: RequestInit = {}): Promise<Response> {
  const answer = await fetch(input, init);
  // The client asks only for the time: do not show this request.
  if (String(input).endsWith(paths.info)) return answer;
  const text = await answer.clone().text();
  const method = init.method ?? 'GET';
  const body = typeof init.body === 'string' ? `\nContent-Type: application/json\n\n${pretty(init.body)}` : '';
  const headers = [...answer.headers].map((header) => header.join(': '));
  for (const details of document.querySelectorAll<HTMLDetailsElement>('#log details')) details.open = false;
  const item = document.createElement('li');
  sent += 1;
  const { pathname } = new URL(String(input), location.origin);
  const drawn = html`
    <p class=${answer.ok ? 'ok' : 'refused'}>${sent}. ${method} ${pathname} → ${answer.status}</p>
    ${folded('Signed', signed)} ${folded('Sent', `${method} ${String(input)}${body}`)}
    ${folded('Answer', `HTTP ${answer.status}\n${headers.join('\n')}\n\n${pretty(text)}`, true)}`;
  render(drawn, item);
  document.getElementById('log')?.prepend(item);
  return answer;
}

function folded(title: string, text: string, isOpen = false) {
  return html`<details ?open=${isOpen}><summary>${title}</summary>
    <pre tabindex="0" role="group" aria-label=${title}><code>${text}</code></pre></details>`;
}

function pretty(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
