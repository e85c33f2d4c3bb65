import {
  type Calls,
  createCalls,
  type Exchange,
  type Interface,
  keySigner,
  type OrderRecord,
  randomSalt,
  type Signer,
  type Wallet,
  walletSigner,
} from './call-service.js';

const EXCHANGES_MAX = 8;
/** Headers of an answer that say something to a maker. */
const shownHeaders = /^(content-type|x-request-id|x-read-lag|retry-after|ratelimit)/;

/** Wires the panel "Try it here": it signs, sends, and shows what was sent and what came back. */
export function openPanel(given: Interface, baseUrl: string): void {
  let signer = keySigner(localStorage, false);
  const calls = (): Calls => createCalls(given, baseUrl, signer);
  const form = find('order-form', HTMLFormElement);

  function show(): void {
    find('maker').textContent = signer.address;
    find('admit-command').textContent = `npm run makers -- add ${signer.address}`;
    for (const id of ['renew', 'key-hint']) find(id).hidden = signer.saltType === 'bytes32';
  }
  async function choose(next: () => Promise<Signer> | Signer): Promise<void> {
    signer = await next();
    find('orders').hidden = true;
    find('listed').textContent = '';
    show();
  }
  async function run(call: () => Promise<Exchange>): Promise<Exchange | undefined> {
    try {
      const exchange = await call();
      showExchange(exchange);
      return exchange;
    } catch (error) {
      find('listed').textContent = messageOf(error);
      return undefined;
    }
  }
  async function list(): Promise<void> {
    const exchange = await run(() => calls().list());
    if (exchange === undefined) return;
    const records = exchange.status === 200 ? (JSON.parse(exchange.answer) as OrderRecord[]) : [];
    find('listed').textContent = exchange.status === 200 ? countOf(records.length) : adviceFor(exchange);
    showOrders(records, async (record) => {
      await run(() => calls().cancel(record));
      await list();
    });
  }

  for (const choice of document.querySelectorAll<HTMLInputElement>('input[name="signer"]')) {
    choice.addEventListener('change', () => {
      const next = choice.value === 'wallet' ? findWallet : () => keySigner(localStorage, false);
      choose(next).catch((error) => {
        find('listed').textContent = messageOf(error);
        const [key] = document.querySelectorAll<HTMLInputElement>('input[name="signer"]');
        if (key !== undefined) key.checked = true;
      });
    });
  }
  find('renew').addEventListener('click', () => void choose(() => keySigner(localStorage, true)));
  find('list').addEventListener('click', () => void list());
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    const exchange = await run(() => calls().place(readOrder(new FormData(form), signer.address)));
    if (exchange?.status === 200) await list();
    else if (exchange !== undefined) find('listed').textContent = adviceFor(exchange);
  });
  show();
  find('panel').hidden = false;
}

async function findWallet(): Promise<Signer> {
  const { ethereum } = window as { ethereum?: Wallet };
  if (ethereum === undefined) throw new Error('There is no wallet in this browser.');
  return walletSigner(ethereum);
}

function readOrder(fields: FormData, maker: string) {
  const text = (name: string) => String(fields.get(name) ?? '').trim();
  const quantity = (value: bigint) => `0x${value.toString(16)}`;
  const seconds = BigInt(Math.floor(Date.now() / 1000)) + 60n * BigInt(text('minutes'));
  return {
    salt: randomSalt(),
    nonce: quantity(BigInt(text('nonce'))),
    expiresAt: quantity(seconds),
    making: { token: text('makingToken'), amount: quantity(BigInt(text('makingAmount'))) },
    taking: { token: text('takingToken'), amount: quantity(BigInt(text('takingAmount'))) },
    maker,
    permittedTaker: `0x${'0'.repeat(40)}`,
  };
}

function showOrders(records: readonly OrderRecord[], cancel: (record: OrderRecord) => Promise<void>): void {
  const rows = records.map((record) => {
    const { order, orderHash, status, reason } = record;
    const button = element('button', 'Cancel', { type: 'button' });
    button.addEventListener('click', () => void cancel(record));
    const cells = [
      element('code', shorten(orderHash), { title: orderHash }),
      element('span', amountOf(order.making)),
      element('span', amountOf(order.taking)),
      element('span', reason === undefined ? status : `${status}: ${reason}`, { className: `status ${status}` }),
      button,
    ];
    const row = document.createElement('tr');
    row.append(...cells.map((cell) => wrap('td', cell)));
    return row;
  });
  find('orders')
    .querySelector('tbody')
    ?.replaceChildren(...rows);
  find('orders').hidden = records.length === 0;
}

function showExchange(exchange: Exchange): void {
  const { method, url, body, status, headers, answer, signed, digest } = exchange;
  const sent = `${method} ${url}${body === undefined ? '' : `\nContent-Type: application/json\n\n${pretty(body)}`}`;
  const shown = headers.filter(([name]) => shownHeaders.test(name)).map(([name, value]) => `${name}: ${value}`);
  const item = wrap(
    'li',
    element('p', `${method} → ${status}`, { className: status === 200 ? 'outcome ok' : 'outcome refused' }),
    folded(`Signed: ${signed.primaryType}`, `digest ${digest}\n\n${JSON.stringify(signed, null, 2)}`, false),
    folded('Sent', sent, false),
    folded('Answer', `HTTP ${status}\n${shown.join('\n')}\n\n${pretty(answer)}`, true),
  );
  const log = find('log');
  for (const details of log.querySelectorAll('details')) details.removeAttribute('open');
  log.prepend(item);
  while (log.childElementCount > EXCHANGES_MAX) log.lastElementChild?.remove();
  find('exchange').hidden = false;
}

function folded(title: string, text: string, isOpen: boolean): HTMLElement {
  const details = wrap('details', element('summary', title), wrap('pre', element('code', text)));
  details.toggleAttribute('open', isOpen);
  return details;
}

/** What to do next, by the code of the answer. */
function adviceFor({ status, answer }: Exchange): string {
  const code = codeOf(answer);
  if (code === 'maker_not_whitelisted') return 'The maker is not on the whitelist yet: see step 1.';
  return `Refused with ${status} ${code}: see below, and the table of errors.`;
}

function codeOf(answer: string): string {
  try {
    return String((JSON.parse(answer) as { code?: unknown }).code);
  } catch {
    return '';
  }
}

const countOf = (count: number) => (count === 1 ? '1 open order' : `${count} open orders`);
const messageOf = (error: unknown) => (error instanceof Error ? error.message : 'The wallet refused.');
const shorten = (hex: string) => `${hex.slice(0, 10)}…${hex.slice(-6)}`;
const amountOf = ({ token, amount }: { readonly token: string; readonly amount: string }) =>
  `${BigInt(amount)} of ${shorten(token)}`;

function pretty(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

function find<T extends HTMLElement = HTMLElement>(id: string, kind?: new () => T): T {
  const found = document.getElementById(id);
  if (found === null || (kind !== undefined && !(found instanceof kind))) throw new Error(`the page has no ${id}`);
  return found as T;
}

function element<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  text: string,
  properties: Partial<HTMLElementTagNameMap[K]> = {},
): HTMLElementTagNameMap[K] {
  return Object.assign(document.createElement(tag), { textContent: text }, properties);
}

function wrap<K extends keyof HTMLElementTagNameMap>(tag: K, ...inner: readonly Node[]): HTMLElementTagNameMap[K] {
  const outer = document.createElement(tag);
  outer.append(...inner);
  return outer;
}
