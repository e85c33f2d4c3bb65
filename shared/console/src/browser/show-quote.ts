import { type Pair, quote } from '@makerbook/book/browser';
import type { BookQuote } from '@makerbook/contracts-http';
import { html } from 'lit-html';
import { copyable, linkTo, table } from './show-rows.js';
import type { Page, View } from './state.js';
import { parseUnits } from './tell-amounts.js';

/** The least that is accepted, in hundredths of a percent of what is quoted. */
const ACCEPTED = 9_900n;
const COLUMNS = ['Order', 'Pay', 'Get', 'Executable'];

/** The view that asks for a quote. */
export function openQuote(page: Page): View {
  const { tokens, book } = page;
  /** `amountIn`: what was asked, and what the calldata takes. */
  let quoted: { readonly quote: BookQuote; readonly amountIn: bigint } | undefined;
  let [said, isFilled] = ['', false];
  const attempt = async (work: Promise<string>) => {
    said = await work.catch((error: unknown) => (error instanceof Error ? error.message : String(error)));
  };
  const ask = async (form: FormData) => {
    [quoted, isFilled] = [undefined, false];
    quoted = await askQuote(page, String(form.get('pair')), String(form.get('amount')));
    return describeQuote(page, quoted.quote);
  };
  const fill = async () => {
    if (quoted === undefined) return '';
    [said, isFilled] = ['Sending the fill …', true];
    const { tokenIn, calldata } = quoted.quote;
    const body = JSON.stringify({ tokenIn, amountIn: String(quoted.amountIn), calldata });
    const answer = await page.ask('/local/fills', { method: 'PUT', body });
    const { block, detail } = (await answer.json()) as { block?: number; detail?: string };
    return answer.ok ? `Filled in block ${block}.` : `Not filled: ${detail ?? answer.status}`;
  };
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    void attempt(ask(new FormData(event.target as HTMLFormElement)));
  };
  return () => {
    const pairs = [...book.orders.pairs()].map(({ tokenIn, tokenOut }) => {
      const [pay, get] = [tokenIn, tokenOut].map((address) => tokens.of(address).symbol);
      return html`<option value="${tokenIn}-${tokenOut}">pay ${pay}, get ${get}</option>`;
    });
    const { tokenIn = '', tokenOut = '', fills = [], calldata = '' } = quoted?.quote ?? {};
    const rows = fills.map(({ orderHash, takingAmount, makingAmount, executable }) => {
      const got = [makingAmount, executable].map((amount) => tokens.tell(amount, tokenOut));
      return { key: orderHash, cells: [linkTo('order', orderHash), tokens.tell(takingAmount, tokenIn), ...got] };
    });
    return html`
      <h1>A quote to try</h1>
      <form @submit=${submit}>
        <label>Pair <select name="pair">${pairs}</select></label>
        <label>Amount to pay <input name="amount" value="1" inputmode="decimal" required autocomplete="off"></label>
        <button type="submit">Quote</button>
      </form>
      <p id="quote-said" role="status">${said}</p>
      <div ?hidden=${rows.length === 0}>
        ${table('Fills', COLUMNS, rows, 'numbers')}
        <p><button type="button" ?hidden=${page.localFolder === undefined || isFilled} @click=${() => attempt(fill())}>
          Fill it on this local chain</button></p>
        <details><summary>Calldata for an <code>OrderFiller</code>, which accepts 1 % less</summary>
          ${copyable(calldata)}</details>
      </div>`;
  };
}

/** @throws Error with what is wrong, for the user */
async function askQuote(page: Page, pair: string, amount: string) {
  const [tokenIn, tokenOut] = pair.split('-') as [Pair['tokenIn'], Pair['tokenOut']];
  const amountIn = parseUnits(amount, page.tokens.of(tokenIn).decimals);
  if (amountIn === undefined) throw new Error('The amount is not a number above zero that the token can have.');
  const { amountOut } = quote(page.book.orders, { tokenIn, tokenOut }, { amountIn }, page.when());
  const limit = String((amountOut * ACCEPTED) / 10_000n || 1n);
  const query = new URLSearchParams({ tokenIn, tokenOut, amountIn: String(amountIn), limit });
  const answer = await page.ask(`/v0alpha/book/quote?${query}`);
  const body = (await answer.json()) as BookQuote & { detail?: string };
  if (!answer.ok) throw new Error(`The service answers ${answer.status}: ${body.detail}`);
  return { quote: body, amountIn };
}

function describeQuote({ tokens }: Page, { tokenIn, tokenOut, fills, ...quote }: BookQuote): string {
  if (fills.length === 0) return 'Nothing can be filled for that now.';
  const [paid, got] = [tokens.tell(quote.amountIn, tokenIn), tokens.tell(quote.amountOut, tokenOut)];
  const orders = fills.length === 1 ? '1 order' : `${fills.length} orders`;
  const gas = quote.gas.toLocaleString('en');
  return `Pay ${paid}, get ${got}, from ${orders}, at block ${quote.block?.number}. About ${gas} gas.`;
}
