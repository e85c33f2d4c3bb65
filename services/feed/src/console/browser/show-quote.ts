import { type Pair, quote } from '@makerbook/book/browser';
import type { BookQuote } from '@makerbook/contracts-http';
import { html } from 'lit-html';
import { copyable, linkTo, table } from './show-rows.js';
import type { Page, View } from './state.js';
import { parseUnits } from './tell-amounts.js';

/** The least amount to accept, in hundredths of a percent of the expected one. */
const ACCEPTED = 9_900n;

/** The view that asks for a quote. */
export function openQuote(page: Page): View {
  const { tokens, book } = page;
  /** `asked` is the amount that the transaction takes. */
  let quoted: (BookQuote & { readonly asked: bigint }) | undefined;
  let said = '';
  const attempt = async (work: Promise<string>) => {
    said = await work.catch(String);
  };
  const ask = async (form: FormData) => {
    quoted = undefined;
    const [tokenIn, tokenOut] = String(form.get('pair')).split('-') as [Pair['tokenIn'], Pair['tokenOut']];
    const asked = parseUnits(String(form.get('amount')), tokens.of(tokenIn).decimals);
    if (asked === undefined) return 'The amount is not a number above zero that the token can have.';
    const expected = quote(book.orders, { tokenIn, tokenOut }, { amountIn: asked }, page.when());
    const limit = String((expected.amountOut * ACCEPTED) / 10_000n || 1n);
    const query = new URLSearchParams({ tokenIn, tokenOut, amountIn: String(asked), limit });
    const answer = await page.ask(`/v0alpha/book/quote?${query}`);
    const body = (await answer.json()) as BookQuote & { detail?: string };
    if (!answer.ok) return `The service answers ${answer.status}: ${body.detail}`;
    const { amountIn, amountOut, fills, block, gas } = body;
    if (fills.length === 0) return 'Nothing can be filled for that now.';
    quoted = { ...body, asked };
    const amounts = `Pay ${tokens.tell(amountIn, tokenIn)}, get ${tokens.tell(amountOut, tokenOut)}`;
    const orders = fills.length === 1 ? '1 order' : `${fills.length} orders`;
    return `${amounts}, from ${orders}, at block ${block?.number}. At most ${gas.toLocaleString('en')} gas.`;
  };
  const fill = async ({ tokenIn, asked, data }: NonNullable<typeof quoted>) => {
    [said, quoted] = ['Sending the fill …', undefined];
    const body = JSON.stringify({ tokenIn, amountIn: String(asked), data });
    const answer = await page.ask('/local/fills', { method: 'PUT', body });
    const { block, detail } = (await answer.json()) as { block?: number; detail?: string };
    return answer.ok ? `Filled in block ${block}.` : `Not filled: ${detail ?? answer.status}`;
  };
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    void attempt(ask(new FormData(event.target as HTMLFormElement)));
  };
  const showFills = (shown: NonNullable<typeof quoted>) => {
    const { tokenIn, tokenOut, fills, data = '' } = shown;
    const rows = fills.map(({ orderHash, takingAmount, makingAmount, executable }) => {
      const got = [makingAmount, executable].map((amount) => tokens.tell(amount, tokenOut));
      return { key: orderHash, cells: [linkTo('order', orderHash), tokens.tell(takingAmount, tokenIn), ...got] };
    });
    return html`
      ${table('Fills', ['Order', 'Pay', 'Get', 'Executable'], rows, 'numbers')}
      <p><button type="button" ?hidden=${page.localFolder === undefined} @click=${() => attempt(fill(shown))}>
        Fill it on this local chain</button></p>
      <details><summary>Calldata for an <code>OrderFiller</code>, which accepts 1 % less</summary>
        ${copyable(data)}</details>`;
  };
  return () => {
    const pairs = [...book.orders.pairs()].map(({ tokenIn, tokenOut }) => {
      const [pay, get] = [tokenIn, tokenOut].map((address) => tokens.of(address).symbol);
      return html`<option value="${tokenIn}-${tokenOut}">pay ${pay}, get ${get}</option>`;
    });
    return html`
      <h1>A quote to try</h1>
      <form @submit=${submit}>
        <label>Pair <select name="pair">${pairs}</select></label>
        <label>Amount to pay <input name="amount" value="1" inputmode="decimal" required autocomplete="off"></label>
        <button type="submit">Quote</button>
      </form>
      <output id="quote-said">${said}</output>
      ${quoted && showFills(quoted)}`;
  };
}
