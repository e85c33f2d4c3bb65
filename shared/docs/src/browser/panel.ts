import { createClient, type LimitOrderRecord, MakerbookError, type TypedData } from '@makerbook/client';
import { BrowserProvider, type Eip1193Provider, type Signer, Wallet } from 'ethers';
import { element, find } from './elements.js';

const EXCHANGES_MAX = 8;
const KEPT = 'makerbook.throw-away-key';
/** Headers of an answer that say something to a maker. */
const shownHeaders = /^(content-type|x-request-id|x-read-lag|retry-after|ratelimit)/;

/** The part of GET …/info that signing needs. */
interface Service {
  readonly serviceName: string;
  readonly chainId: number;
  readonly contracts: { readonly limitOrderProtocol: string };
}

/** What a stack of `npm start` tells this machine. */
interface LocalStack {
  readonly folder: string;
  readonly tokens: readonly { readonly symbol: string; readonly address: string }[];
}

const service = JSON.parse(find('interface').textContent ?? '') as Service;
const form = find('order-form', HTMLFormElement);
let signer: Signer = keySigner(false);
/** What was signed last: it belongs to the request that follows. */
let signed = '';

for (const choice of document.querySelectorAll<HTMLInputElement>('input[name="signer"]')) {
  choice.addEventListener('change', () => act(() => choose(choice.value === 'wallet')));
}
find('renew').addEventListener('click', () =>
  act(async () => {
    signer = keySigner(true);
    await show();
  }),
);
find('prepare').addEventListener('click', () => void prepare());
find('list').addEventListener('click', () => act(list));
form.addEventListener('submit', (event) => {
  event.preventDefault();
  act(place);
});
await show();
find('panel').hidden = false;
await offerLocalStack();

/** A signer with the key that this browser keeps, or with a new one. */
function keySigner(isNew: boolean): Wallet {
  const key = (isNew ? null : localStorage.getItem(KEPT)) ?? Wallet.createRandom().privateKey;
  localStorage.setItem(KEPT, key);
  return new Wallet(key);
}

function client() {
  const { serviceName, chainId, contracts } = service;
  const { limitOrderProtocol } = contracts;
  const onSign = (data: TypedData, digest: string) => {
    signed = `digest ${digest}\n\n${JSON.stringify(data, null, 2)}`;
  };
  return createClient({
    baseUrl: location.origin,
    signer,
    serviceName,
    chainId,
    limitOrderProtocol,
    onSign,
    fetch: fetchAndShow,
  });
}

async function choose(isWallet: boolean): Promise<void> {
  const { ethereum } = window as { ethereum?: Eip1193Provider };
  try {
    if (isWallet && ethereum === undefined) throw new Error('There is no wallet in this browser.');
    signer = isWallet && ethereum !== undefined ? await new BrowserProvider(ethereum).getSigner() : keySigner(false);
  } catch (error) {
    const key = document.querySelector<HTMLInputElement>('input[value="key"]');
    if (key !== null) key.checked = true;
    throw error;
  }
  await show();
}

async function show(): Promise<void> {
  const maker = await signer.getAddress();
  find('maker').textContent = maker;
  const data = find('folder').textContent ?? '';
  find('admit-command').textContent = `MAKERBOOK_DATA='${data}' npm run makers -- add ${maker}`;
  for (const id of ['renew', 'key-hint']) find(id).hidden = !(signer instanceof Wallet);
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
  await show();
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

/** Does what a button asks for, and says what to do next where it fails. */
function act(work: () => Promise<void>): void {
  work().catch((error: unknown) => {
    find('listed').textContent = adviceFor(error);
  });
}

function adviceFor(error: unknown): string {
  if (!(error instanceof MakerbookError)) return error instanceof Error ? error.message : 'The wallet refused.';
  if (error.code === 'maker_not_whitelisted') return 'The maker is not on the whitelist yet: see step 2.';
  return `Refused with ${error.status} ${error.code}: see below, and the codes of errors.`;
}

/** The way to cancel comes first: the last column of a wide table is out of sight. */
function rowOf(record: LimitOrderRecord): HTMLElement {
  const { order, orderHash, status } = record;
  const button = element('button', { type: 'button' }, 'Cancel');
  button.addEventListener('click', () => act(() => cancel(record)));
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
  const headers = [...answer.headers].filter(([name]) => shownHeaders.test(name)).map((header) => header.join(': '));
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
  while (log.childElementCount > EXCHANGES_MAX) log.lastElementChild?.remove();
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
