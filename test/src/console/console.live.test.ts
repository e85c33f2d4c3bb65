import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { SignedOrder } from '@makerbook/client';
import { parseUnits, Wallet } from 'ethers';
import type { Page } from 'playwright-core';
import { canOpenBrowser, findFaults, noteComplaints, openBrowser, sizes } from '../kit/open-browser.js';
import { openChain, openMakers, type TestChain, type TestMaker } from '../kit/open-maker.js';
import { type OpenStack, openStack, TEST_STACK_VARIABLE } from '../kit/open-stack.js';

const SEEN_MS_MAX = 300_000;
const KEY = 'key-of-the-console';
const reader = { name: 'console', keys: [createHash('sha256').update(KEY).digest('hex')] };
const readers = JSON.stringify([{ ...reader, requestsPerSecond: 1_000, burst: 1_000, streamsMax: 100 }]);
let stack: OpenStack;
let chain: TestChain;
let browser: Awaited<ReturnType<typeof openBrowser>>;
let maker: TestMaker;
const complaints: string[] = [];
const describeIfBrowser = canOpenBrowser ? describe : describe.skip;

const consoleUrl = () => stack.addresses.consoleUrl ?? '';

async function openPage(options: Parameters<typeof browser.newContext>[0] = {}): Promise<Page> {
  const context = await browser.newContext({ viewport: sizes.wide, ...options });
  await context.addInitScript(`sessionStorage.setItem('makerbook.reader-key', '${KEY}')`);
  const page = await context.newPage();
  page.setDefaultTimeout(SEEN_MS_MAX);
  noteComplaints(page, new URL(consoleUrl()).origin, complaints);
  await page.goto(consoleUrl());
  await page.getByText(/^✓ all \d+ fresh/).waitFor();
  return page;
}

/** Waits until the page shows this text in an element. */
const saying = (page: Page, selector: string, text: string | RegExp) =>
  page.locator(selector).filter({ hasText: text }).first().waitFor();
const [timeline, ladder] = ['Timeline', 'Ladder'].map((name) => `figure[aria-label=${name}]`) as [string, string];
const goTo = (page: Page, view: string) => page.goto(`${consoleUrl()}#${view}`);

/** The first tokens of the stack: the one that prices are in, and the one that is sold. */
function tokens() {
  const [quote, base] = stack.addresses.tokens;
  if (quote === undefined || base === undefined) throw new Error('the stack has no tokens');
  return { quote, base };
}

const sell = (weth: string, usdt: string, salt?: bigint) => place(weth, usdt, false, salt);
const buy = (weth: string, usdt: string) => place(weth, usdt, true);

async function place(weth: string, usdt: string, isBuy: boolean, salt?: bigint): Promise<SignedOrder> {
  const { quote, base } = tokens();
  const inBase = { token: base.address, amount: parseUnits(weth, base.decimals) };
  const inQuote = { token: quote.address, amount: parseUnits(usdt, quote.decimals) };
  const order = await maker.client.signOrder({
    making: isBuy ? inQuote : inBase,
    taking: isBuy ? inBase : inQuote,
    nonce: 0n,
    expiresAt: (await chain.nowSeconds()) + 3_600,
    ...(salt !== undefined && { salt }),
  });
  await maker.client.placeOrders([order]);
  return order;
}

const shortened = (hex: string) => `${hex.slice(0, 6)}…${hex.slice(-4)}`;
const colorOf = (element: object) => (globalThis as unknown as Styles).getComputedStyle(element).color;
type Styles = { getComputedStyle(element: object): { readonly color: string } };

/**
 * Finds what does not fit in the window: the page, a placeholder in its field, or the tabs in one line with the search.
 */
const findMisfits = (page: Page) =>
  page.evaluate<string[]>(`(() => {
    const middleOf = ({ top, bottom }) => (top + bottom) / 2;
    const [tabs, field] = ['nav', '[name=words]'].map((one) => document.querySelector(one));
    const [tabsAt, fieldAt] = [tabs, field].map((one) => one.getBoundingClientRect());
    const pen = document.createElement('canvas').getContext('2d');
    const { font, paddingLeft } = getComputedStyle(field);
    pen.font = font;
    const widthMax = field.clientWidth - 2 * parseFloat(paddingLeft);
    return [
      document.documentElement.scrollWidth > innerWidth && 'the page scrolls sideways',
      pen.measureText(field.placeholder).width > widthMax && 'the placeholder is cut',
      tabsAt.right < fieldAt.left && Math.abs(middleOf(tabsAt) - middleOf(fieldAt)) > 2 && 'the tabs are not level with the search',
    ].filter(Boolean);
  })()`);

describeIfBrowser('the console', () => {
  beforeAll(async () => {
    [stack, browser] = await Promise.all([
      openStack({ ownParts: false, own: { feed: { BOOK_READERS: readers } } }),
      openBrowser(),
    ]);
    chain = openChain(stack);
    [maker] = (await openMakers(stack, chain, 1)) as [TestMaker];
    await maker.mint(parseUnits('10', 18), 1);
    await maker.approve(parseUnits('10', 18), 1);
    await maker.mint(parseUnits('5000', 6));
    await maker.approve(parseUnits('5000', 6));
  });
  afterAll(async () => {
    chain?.stop();
    await browser?.stop();
    await stack?.stop();
  });

  test('shows a posted order, fills a part of it by a button, and shows who filled it', async () => {
    const page = await openPage();
    const { orderHash } = await sell('2', '6000');
    const row = `figure[aria-label="Orders of the pair"] tr[data-key="${orderHash}"]`;
    await saying(page, row, 'ACTIVE');
    expect(await page.locator(row).textContent()).toMatch(/^SellWETH\/USDT3,000.00 2 WETHACTIVE0x/);
    expect(await page.locator(`${row} meter`).getAttribute('value')).toBe('1');
    await saying(page, `figure[aria-label="Newest orders"] tbody tr:first-child[data-key="${orderHash}"]`, 'ACTIVE');
    const other = await buy('1', '2900');
    await saying(page, `tr[data-key="${other.orderHash}"]`, 'ACTIVE');
    // The sells, the spread, and the buys below it, each amount with the sum up to it.
    const levels = /^\s*3,000.002.000+2.000+Spread 100.0003.39 %2,900.001.000+1.000+\s*$/;
    await saying(page, `${ladder} tbody`, levels);
    expect(await page.locator(`${ladder} thead`).textContent()).toBe('Price, USDTAmount, WETHSum, WETH');
    await maker.client.cancelOrders([{ orderHash: other.orderHash, salt: other.order.salt }]);

    await goTo(page, 'quote');
    await page.selectOption('[name=pair]', { label: 'pay USDT, get WETH' });
    await page.fill('[name=amount]', '1500');
    await page.click('main form button');
    await saying(page, '#quote-said', 'Pay 1,500 USDT, get 0.5 WETH, from 1 order');
    expect(await page.locator('details code').last().textContent()).toMatch(/^0xae325c02/);
    await page.getByText('Fill it on this local chain').click();
    await saying(page, '#quote-said', /^Filled in block \d+/);

    await goTo(page, 'pairs');
    await saying(page, row, '1.5 WETH');
    expect(await page.locator(`${row} meter`).getAttribute('value')).toBe('0.75');
    const fill = /^Sell20\d\d-\d\d-\d\d [\d:]{8}(WETH\/USDT)?3,000.000.5 WETH1,500 USDT1.5 WETH0x/;
    await saying(page, 'figure[aria-label="Recent trades"] tbody tr:first-child', fill);
    await goTo(page, 'health');
    await saying(page, 'figure[aria-label="Newest fills"] tbody tr:first-child', fill);
    await saying(page, 'main', /POST → ACTIVE[12]\d/);
    await goTo(page, `order/${orderHash}`);
    await saying(
      page,
      timeline,
      /FILLED by 0x[0-9a-f…]{9,},\s+0.5 WETH for 1,500 USDT\s+at 3,000.001.5 WETHtx 0x.*, block \d+ of 20\d\d-/,
    );
    await saying(page, '#terms', '1.5 WETH, 75.00 %');
    const transaction = await page.locator(`${timeline} a[href^="/local/chain/0x"]`).first().getAttribute('href');
    expect(await (await fetch(new URL(`${transaction}`, consoleUrl()))).json()).toMatchObject({ status: '0x1' });
    await goTo(page, 'quote');
    await page.fill('[name=amount]', '100,000');
    await page.click('main form button');
    await saying(page, '#quote-said', 'Pay 4,500 USDT, get 1.5 WETH, from 1 order');
    await page.getByText('Fill it on this local chain').click();
    await saying(page, '#quote-said', /^Filled in block \d+/);
    await goTo(page, 'health');
    await saying(page, 'main', /OrderChanged: FILLED1.*OrderRemoved: FILLED1/);
    await page.context().close();
    expect(complaints).toEqual([]);
  });

  test('is at its own port, and at none that makers can reach', async () => {
    const gateway = stack.addresses.baseUrl.replace('127.0.0.1', 'localhost');
    for (const origin of [gateway, `http://127.0.0.1:${stack.portOf('feed')}`]) {
      for (const path of ['/console', '/console/state', `/console/orders/0x${'1'.repeat(64)}`, '/local/runbook'])
        expect([origin, path, (await fetch(`${origin}${path}`)).status]).toEqual([origin, path, 404]);
    }
    const told = await fetch(`${gateway}/local/stack.json`);
    expect(await told.json()).toMatchObject({ consoleUrl: consoleUrl() });
    const own = new URL(consoleUrl()).origin;
    for (const path of ['/v0alpha/limit-orders/info', '/docs', '/console/orders%2f..%2f..%2fmetrics/x'])
      expect([path, (await fetch(`${own}${path}`)).status]).toEqual([path, 404]);
  });

  test('shows what happened to an order and to a maker before it was opened', async () => {
    // This salt has the most digits.
    const cancelled = await sell('1', '3050', 2n ** 256n - 1n);
    const { orderHash, order } = cancelled;
    await maker.client.cancelOrders([{ orderHash, salt: order.salt }]);
    await maker.fill(cancelled, 300_000_000_000n);
    const page = await openPage();
    await goTo(page, `order/${orderHash}`);
    await saying(page, '#order-said', 'It is not in the book now.');
    await saying(page, timeline, /OPENED: VALIDATING1 WETHrequest .*REMOVED: CANCELLED1 WETHrequest .*FILLED by 0x/);
    await saying(page, '#terms', /3,050 USDT.*CANCELLED.*Filled0.0000003 WETH, 0.0000003 WETH of it after its end/);
    const address = maker.wallet.address.toLowerCase();
    await page.fill('[name=words]', `${address} ${BigInt(order.salt)}`);
    await page.keyboard.press('Enter');
    await saying(page, '#salted', 'Not in the book: 1');
    await page.click(`a[href="#order/${orderHash}"]`);
    await saying(page, '#terms', `Salt${shortened(order.salt)}`);
    const told = await (await fetch(`${stack.opsUrl('query')}/orders/${orderHash}`)).json();
    expect(told).toMatchObject({ orderHash, status: 'CANCELLED' });
    expect(told).not.toHaveProperty('signature');

    await sell('1', '3100');
    const key = Wallet.createRandom().address.toLowerCase();
    const { base } = tokens();
    await maker.client.setFillCap({ token: base.address, amount: parseUnits('0.5', 18), windowSeconds: 600 });
    await maker.fill(await sell('1', '3200'), 300_000_000_000n);
    await maker.client.nameCancelKeys([key]);
    await maker.client.sendHeartbeat((await chain.nowSeconds()) + 3_000);
    await goTo(page, `maker/${address}`);
    await saying(page, 'figure[aria-label=Funds]', '✓ covers all');
    await saying(page, '#limits', /admissionADMITTED.*open orders max1000/);
    await saying(page, '#limits', new RegExp(`cancel keys${key}.*switchfires in 2\\d{3} s, at 20\\d\\d-`));
    await saying(page, 'figure[aria-label=Caps] tbody', /^WETH0.5 WETH600 s0.0000003 WETH20\d\d-.*✓ in the book/);
    await saying(page, 'figure[aria-label="Fills of the maker"] tr:first-child', /^Sell20.*3,200.000.0000003 WETH/);
    await saying(page, 'figure[aria-label="Fills of the maker"] tr', shortened(orderHash));
    await goTo(page, 'pairs');
    await saying(page, 'p', /^Prices of the newest 4 trades, from 3,000.00 to 3,200.00\.$/);
    await page.locator('[aria-label^="Prices of"] canvas').waitFor();
    await goTo(page, `maker/${address}`);
    await saying(page, 'figure[aria-label=Decisions]', 'MakerAdmitted');
    await saying(page, 'li', `makers -- suspend ${address}`);
    await page.context().close();
  });

  const testWithReaders = process.env[TEST_STACK_VARIABLE] === undefined ? test : test.skip;
  testWithReaders('asks for the key of a reader, and again if it is wrong', async () => {
    const page = await (await browser.newContext()).newPage();
    await page.goto(consoleUrl());
    for (const key of ['a wrong one', 'ключ', ` ${KEY} `]) {
      await page.fill('[name=key]', key);
      await Promise.all([page.waitForEvent('load'), page.keyboard.press('Enter')]);
    }
    await page.getByText(/^✓ all \d+ fresh/).waitFor();
    expect(await page.isVisible('[name=key]')).toBe(false);
    await page.context().close();
  });

  test.each([
    ['wide', 'light'],
    ['narrow', 'dark'],
  ] as const)('passes the checks of axe and fits its window, %s and %s', async (size, colorScheme) => {
    const page = await openPage({ viewport: sizes[size], colorScheme });
    const { orderHash } = await sell('1', '3100');
    await saying(page, `tr[data-key="${orderHash}"]`, 'ACTIVE');
    const views = ['pairs', 'quote', 'health', `order/${orderHash}`, `maker/${maker.wallet.address.toLowerCase()}`];
    for (const view of views) {
      await goTo(page, view);
      await saying(page, 'h1', view === 'quote' ? 'A quote to try' : new RegExp(`^${view.split('/')[0]}$`, 'i'));
      expect([view, await findFaults(page), await findMisfits(page)]).toEqual([view, [], []]);
    }
    await page.context().close();
  });

  test('can be used with the keyboard alone', async () => {
    const page = await openPage();
    const { orderHash } = await sell('1', '3150');
    await saying(page, `tr[data-key="${orderHash}"]`, 'ACTIVE');
    const focused = () => page.evaluate('document.activeElement.textContent');
    await page.keyboard.press('Tab');
    expect(await focused()).toBe('Skip to the view');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Tab');
    expect(await focused()).toBe('Quote');
    await page.keyboard.press('Enter');
    await saying(page, 'h1', 'A quote to try');
    expect(await page.title()).toBe('A quote to try – console');
    await page.focus('[name=words]');
    await page.keyboard.type(orderHash);
    await page.keyboard.press('Enter');
    await saying(page, '#terms', '3,150 USDT');
    await page.context().close();
  });

  test('greys the partitions of a frozen projector, and links to its runbook', async () => {
    const page = await openPage();
    const { orderHash } = await sell('1', '3200');
    const row = `figure[aria-label="Orders of the pair"] tr[data-key="${orderHash}"]`;
    await saying(page, row, 'ACTIVE');
    await stack.freeze('projector');
    try {
      await saying(page, 'header', /✕ \d+ of \d+ stale/);
      await saying(page, row, 'ACTIVE, stale');
      expect(await page.locator(row).getAttribute('class')).toContain('stale');
      await saying(page, '#depth-empty', 'Nothing can be filled now: ');
      expect(await page.locator(`[aria-label^="Makers buy"], ${ladder}`).count()).toBe(0);
      await goTo(page, 'health');
      const wrong = 'figure[aria-label=Wrong] tr.wrong';
      await saying(page, wrong, '✕ projector: does not answer');
      await saying(page, wrong, /✕ Stale partitions of the book: [1-9]/);
      // Faults are red, and at the top of the view.
      expect(await page.locator('main figure').first().getAttribute('aria-label')).toBe('Wrong');
      expect(await page.locator(`${wrong} td`).first().evaluate(colorOf)).toBe('rgb(161, 58, 43)');
      const runbook = await page.locator(`${wrong} a`).first().getAttribute('href');
      expect(runbook).toBe('/local/runbook#projectordown');
      await page.goto(new URL(`${runbook}`, consoleUrl()).href);
      await page.locator('#projectordown').waitFor();
    } finally {
      stack.signal('SIGCONT', 'projector');
    }
  });
});
