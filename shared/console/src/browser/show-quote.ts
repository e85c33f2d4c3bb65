import type { BookQuote } from '@makerbook/contracts-http';
import { addCopyButton, element, fillRows, find, say } from './elements.js';
import type { Page } from './state.js';
import { parseUnits, shorten } from './tell-amounts.js';

/** The least that is accepted, in hundredths of a percent of what is quoted. */
const ACCEPTED = 9_900n;

/** `amountIn`: what was asked, and what the calldata takes. */
interface Quoted {
  readonly quote: BookQuote;
  readonly amountIn: bigint;
}

/** The view that asks for a quote. @returns draws what changes by itself: the pairs to choose from */
export function openQuote(page: Page): () => void {
  const form = find('quote-form', HTMLFormElement);
  const select = find('quote-pair', HTMLSelectElement);
  let quoted: Quoted | undefined;
  addCopyButton('calldata');
  const attempt = (work: () => Promise<void>) => {
    work().catch((error: unknown) => say('quote-said', error instanceof Error ? error.message : String(error)));
  };
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    attempt(async () => {
      quoted = await askQuote(page, select.value, String(new FormData(form).get('amount')));
      show(page, quoted.quote);
    });
  });
  find('fill').addEventListener('click', () =>
    attempt(async () => {
      if (quoted === undefined) return;
      say('quote-said', 'Sending the fill …');
      const { tokenIn, calldata } = quoted.quote;
      const body = JSON.stringify({ tokenIn, amountIn: String(quoted.amountIn), calldata });
      const answer = await page.ask('/local/fills', { method: 'PUT', body });
      const told = (await answer.json()) as { block?: number; detail?: string };
      say('quote-said', answer.ok ? `Filled in block ${told.block}.` : `Not filled: ${told.detail ?? answer.status}`);
      find('fill').hidden = true;
    }),
  );
  return () => {
    const pairs = [...page.book.orders.pairs()].map(({ tokenIn, tokenOut }) => `${tokenIn}-${tokenOut}`).sort();
    const known = [...select.options].map(({ value }) => value);
    if (pairs.join() === known.join()) return;
    const { value } = select;
    select.replaceChildren(
      ...pairs.map((pair) => {
        const [pay, get] = pair.split('-').map((address) => page.tokens.of(address).symbol);
        return element('option', { value: pair }, `pay ${pay}, get ${get}`);
      }),
    );
    if (pairs.includes(value)) select.value = value;
  };
}

/** @throws Error with what is wrong, for the user */
async function askQuote(page: Page, pair: string, amount: string): Promise<Quoted> {
  const [tokenIn = '', tokenOut = ''] = pair.split('-');
  const amountIn = parseUnits(amount, page.tokens.of(tokenIn).decimals);
  if (amountIn === undefined) throw new Error('The amount is not a number above zero that the token can have.');
  const query = new URLSearchParams({ tokenIn, tokenOut, amountIn: String(amountIn) });
  const first = await readQuote(page, query);
  if (first.fills.length === 0) return { quote: first, amountIn };
  query.set('limit', String((BigInt(first.amountOut) * ACCEPTED) / 10_000n));
  return { quote: await readQuote(page, query), amountIn };
}

async function readQuote(page: Page, query: URLSearchParams): Promise<BookQuote> {
  const answer = await page.ask(`/v0alpha/book/quote?${query}`);
  const body = (await answer.json()) as BookQuote & { detail?: string };
  if (!answer.ok) throw new Error(`The service answers ${answer.status}: ${body.detail}`);
  return body;
}

function show({ tokens, localFolder }: Page, quote: BookQuote): void {
  const { tokenIn, tokenOut, amountIn, amountOut, fills, gas, block, calldata } = quote;
  const [paid, got] = [tokens.tell(BigInt(amountIn), tokenIn), tokens.tell(BigInt(amountOut), tokenOut)];
  const orders = fills.length === 1 ? '1 order' : `${fills.length} orders`;
  const words = `Pay ${paid}, get ${got}, from ${orders}, at block ${block?.number}. About ${gas.toLocaleString('en')} gas.`;
  say('quote-said', fills.length === 0 ? 'Nothing can be filled for that now.' : words);
  find('quote-result').hidden = fills.length === 0;
  find('fill').hidden = localFolder === undefined || calldata === undefined;
  fillRows(
    'fills',
    fills.map((fill) => ({
      key: fill.orderHash,
      cells: [
        { text: shorten(fill.orderHash), href: `#order/${fill.orderHash}`, title: fill.orderHash },
        tokens.tell(BigInt(fill.takingAmount), tokenIn),
        tokens.tell(BigInt(fill.makingAmount), tokenOut),
        tokens.tell(BigInt(fill.executable), tokenOut),
      ],
    })),
  );
  say('calldata', calldata ?? '');
}
