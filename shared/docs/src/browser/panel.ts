import { createClient, type LimitOrderRecord, type TypedData } from '@makerbook/client';
import type { Info } from '@makerbook/contracts-http';
import { BrowserProvider, type Eip1193Provider, type Signer, Wallet } from 'ethers';
import { element, find } from './elements.js';

const KEPT = 'makerbook.throw-away-key';

/** What a stack of `npm start` tells this machine. */
interface LocalStack {
  readonly folder: string;
  readonly tokens: readonly { readonly symbol: string; readonly address: string }[];
}

const service = JSON.parse(find('interface').textContent ?? '') as Info;
const form = find('order-form', HTMLFormElement);
let signer: Signer = keySigner(false);
/** What was signed last: it belongs to the request that follows. */
let signed = '';

onClick('renew', () => use(keySigner(true)));
onClick('wallet', async () => {
  const { ethereum } = window as { ethereum?: Eip1193Provider };
  if (ethereum === undefined) throw new Error('There is no wallet in this browser.');
  await use(await new BrowserProvider(ethereum).getSigner());
});
onClick('prepare', prepare);
onClick('list', list);
form.addEventListener('submit', (event) => {
  event.preventDefault();
  act(place);
});
await use(signer);
find('panel').hidden = false;
await offerLocalStack();

/** A signer with the key that this browser keeps, or with a new one. */
function keySigner(isNew: boolean): Wallet {
  const key = (isNew ? null : localStorage.getItem(KEPT)) ?? Wallet.createRandom().privateKey;
  localStorage.setItem(KEPT, key);
  return new Wallet(key);
}

function client() {
  const onSign = (data: TypedData, digest: string) => {
    signed = `digest ${digest}\n\n${JSON.stringify(data, null, 2)}`;
  };
  const { limitOrderProtocol } = service.contracts;
  return createClient({
    ...service,
    limitOrderProtocol,
    baseUrl: location.origin,
    signer,
    onSign,
    fetch: fetchAndShow,
  });
}

async function use(chosen: Signer): Promise<void> {
  signer = chosen;
  const maker = await signer.getAddress();
  find('maker').textContent = maker;
  const data = find('folder').textContent ?? '';
  find('admit-command').textContent = `MAKERBOOK_DATA='${data}' npm run makers -- add ${maker}`;
  find('key-hint').hidden = !(signer instanceof Wallet);
  find('orders').hidden = true;
  for (const id of ['listed', 'prepared']) find(id).textContent = '';
}

/** Where `npm start` runs this, the tokens are known, and the maker can be given all that it needs. */
async function offerLocalStack(): Promise<void> {
  const answer = await fetch('/local/stack.json').catch(() => undefined);
  if (answer?.ok !== true) return;
  const { folder, tokens } = (await answer.json()) as LocalStack;
  find('tokens').replaceChildren(...tokens.map(({ symbol, address }) => element('option', { value: address }, symbol)));
  for (const [index, name] of ['makingToken', 'takingToken'].entries()) {
    const input = form.elements.namedItem(name) as HTMLInputElement;
    input.value ||= tokens[index]?.address ?? '';
  }
  find('folder').textContent = folder;
  find('local').hidden = false;
  await use(signer);
}

async function prepare(): Promise<void> {
  find('prepared').textContent = 'Sending …';
  const answer = await fetch(`/local/makers/${await signer.getAddress()}`, { method: 'PUT' });
  find('prepared').textContent = answer.ok
    ? 'It is on the whitelist, has gas and tokens, and has approved the contract.'
    : `Not done (${answer.status}): see the log of the gateway.`;
}

async function place(): Promise<void> {
  const fields = new FormData(form);
  const text = (name: string) => String(fields.get(name)).trim();
  const order = await client().signOrder({
    making: { token: text('makingToken'), amount: BigInt(text('makingAmount')) },
    taking: { token: text('takingToken'), amount: BigInt(text('takingAmount')) },
    expiresAt: BigInt(Math.floor(Date.now() / 1000)) + 60n * BigInt(text('minutes')),
    nonce: BigInt(text('nonce')),
  });
  await client().placeOrders([order]);
  await list();
}

async function list(): Promise<void> {
  const { records } = await client().listOrders();
  find('listed').textContent = records.length === 1 ? '1 open order' : `${records.length} open orders`;
  find('orders')
    .querySelector('tbody')
    ?.replaceChildren(...records.map(rowOf));
  find('orders').hidden = records.length === 0;
}

async function cancel({ orderHash, order }: LimitOrderRecord): Promise<void> {
  await client().cancelOrders([{ orderHash, salt: order.salt }]);
  await list();
}

function onClick(id: string, work: () => Promise<void>): void {
  find(id).addEventListener('click', () => act(work));
}

/** Does what a button asks for, and says why where it fails. */
function act(work: () => Promise<void>): void {
  work().catch((error: unknown) => {
    find('listed').textContent = error instanceof Error ? error.message : 'The wallet refused.';
  });
}

/** The way to cancel comes first: the last column of a wide table is out of sight. */
function rowOf(record: LimitOrderRecord): HTMLElement {
  const { order, orderHash, status } = record;
  const button = element('button', { type: 'button', onclick: () => act(() => cancel(record)) }, 'Cancel');
  const said = record.status === 'INACTIVE' ? `${status}: ${record.reason}` : status;
  const cells = [
    button,
    element('code', { title: orderHash }, shorten(orderHash)),
    element('span', { className: `status ${status}` }, said),
    amountOf(order.making),
    amountOf(order.taking),
  ];
  return element('tr', {}, ...cells.map((cell) => element('td', {}, cell)));
}

/** Sends a request, and shows it with what was signed for it and its answer. */
async function fetchAndShow(input: string | URL | Request, init: RequestInit = {}): Promise<Response> {
  const answer = await fetch(input, init);
  const text = await answer.clone().text();
  const method = init.method ?? 'GET';
  const body = typeof init.body === 'string' ? `\nContent-Type: application/json\n\n${pretty(init.body)}` : '';
  const headers = [...answer.headers].map((header) => header.join(': '));
  const outcome = { className: answer.ok ? 'outcome ok' : 'outcome refused' };
  const log = find('log');
  for (const details of log.querySelectorAll('details')) details.open = false;
  log.prepend(
    element(
      'li',
      {},
      element('p', outcome, `${method} → ${answer.status}`),
      folded('Signed', signed, false),
      folded('Sent', `${method} ${String(input)}${body}`, false),
      folded('Answer', `HTTP ${answer.status}\n${headers.join('\n')}\n\n${pretty(text)}`, true),
    ),
  );
  find('exchange').hidden = false;
  return answer;
}

function folded(title: string, text: string, open: boolean): HTMLElement {
  const block = element('pre', { tabIndex: 0, role: 'group', ariaLabel: title }, element('code', {}, text));
  return element('details', { open }, element('summary', {}, title), block);
}

const shorten = (hex: string) => `${hex.slice(0, 10)}…${hex.slice(-6)}`;
const amountOf = ({ token, amount }: LimitOrderRecord['order']['making']) => `${BigInt(amount)} of ${shorten(token)}`;

function pretty(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
