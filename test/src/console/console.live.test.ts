import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { SignedOrder } from '@makerbook/client';
import { parseUnits } from 'ethers';
import type { Page } from 'playwright-core';
import { canOpenBrowser, findFaults, noteComplaints, openBrowser, sizes } from '../kit/open-browser.js';
import { openChain, openMakers, type TestChain, type TestMaker } from '../kit/open-maker.js';
import { type OpenStack, openStack, TEST_STACK_VARIABLE } from '../kit/open-stack.js';

const SEEN_MS_MAX = 120_000;
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

/** Waits until the page says this in an element. */
const saying = (page: Page, selector: string, text: string | RegExp) =>
  page.locator(selector).filter({ hasText: text }).first().waitFor();
const timeline = 'figure[aria-label=Timeline]';
const goTo = (page: Page, view: string) => page.goto(`${consoleUrl()}#${view}`);

async function sell(weth: string, usdt: string): Promise<SignedOrder> {
  const [quote, base] = stack.addresses.tokens;
  if (quote === undefined || base === undefined) throw new Error('the stack has no tokens');
  const order = await maker.client.signOrder({
    making: { token: base.address, amount: parseUnits(weth, base.decimals) },
    taking: { token: quote.address, amount: parseUnits(usdt, quote.decimals) },
    nonce: 0n,
    expiresAt: (await chain.nowSeconds()) + 3_600,
  });
  await maker.client.placeOrders([order]);
  return order;
}

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
  });
  afterAll(async () => {
    chain?.stop();
    await browser?.stop();
    await stack?.stop();
  });

  test('shows an order that is posted, how the button fills a part of it, and who filled it', async () => {
    const page = await openPage();
    const { orderHash } = await sell('2', '6000');
    const row = `figure[aria-label="Orders of the pair"] tr[data-key="${orderHash}"]`;
    await saying(page, row, 'ACTIVE');
    expect(await page.locator(row).textContent()).toMatch(/^SellWETH\/USDT3,000.00 2 WETHACTIVE0x/);
    expect(await page.locator(`${row} meter`).getAttribute('value')).toBe('1');
    await saying(page, `figure[aria-label="Newest orders"] tbody tr:first-child[data-key="${orderHash}"]`, 'ACTIVE');

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
    await goTo(page, `order/${orderHash}`);
    await saying(
      page,
      timeline,
      /FILLED by 0x[0-9a-f…]{11,},\s+0.5 WETH for 1,500 USDT\s+at 3,000.001.5 WETHtransaction 0x.*, block \d+ of 20\d\d-/,
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
    await saying(page, 'main', /POST → ACTIVE1\d/);
    await page.context().close();
    expect(complaints).toEqual([]);
  });

  test('is at its own port, and at none that makers reach', async () => {
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

  test('tells what happened before it was opened: to an order, and to a maker', async () => {
    const { orderHash, order } = await sell('1', '3050');
    await maker.client.cancelOrders([{ orderHash, salt: order.salt }]);
    const page = await openPage();
    await goTo(page, `order/${orderHash}`);
    await saying(page, '#order-said', 'It is not in the book now.');
    await saying(page, timeline, /OPENED: VALIDATING1 WETHrequest .*REMOVED: CANCELLED1 WETHrequest /);
    await saying(page, '#terms', '3,050 USDT');
    const told = await (await fetch(`${stack.opsUrl('query')}/orders/${orderHash}`)).json();
    expect(told).toMatchObject({ orderHash, status: 'CANCELLED' });
    expect(told).not.toHaveProperty('signature');

    await sell('1', '3100');
    const address = maker.wallet.address.toLowerCase();
    await goTo(page, `maker/${address}`);
    await saying(page, 'figure[aria-label=Funds]', '✓ covers all');
    await saying(page, '#limits', /admissionADMITTED.*open orders max1000/);
    await saying(page, 'figure[aria-label=Decisions]', 'MakerAdmitted');
    await saying(page, 'li', `makers -- suspend ${address}`);
    await page.context().close();
  });

  const testWithReaders = process.env[TEST_STACK_VARIABLE] === undefined ? test : test.skip;
  testWithReaders('asks for the key of a reader, and again where it is wrong', async () => {
    const page = await (await browser.newContext()).newPage();
    await page.goto(consoleUrl());
    for (const key of ['a wrong one', KEY]) {
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
  ] as const)('has no fault that axe finds, %s and %s', async (size, colorScheme) => {
    const page = await openPage({ viewport: sizes[size], colorScheme });
    const { orderHash } = await sell('1', '3100');
    await saying(page, `tr[data-key="${orderHash}"]`, 'ACTIVE');
    const views = ['pairs', 'quote', 'health', `order/${orderHash}`, `maker/${maker.wallet.address.toLowerCase()}`];
    for (const view of views) {
      await goTo(page, view);
      await saying(page, 'h1', view === 'quote' ? 'A quote to try' : new RegExp(`^${view.split('/')[0]}$`, 'i'));
      expect([view, await findFaults(page)]).toEqual([view, []]);
    }
    await page.context().close();
  });

  test('is used by the keyboard alone', async () => {
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

  test('greys the partitions of a projector that stands still, and says where its runbook is', async () => {
    const page = await openPage();
    const { orderHash } = await sell('1', '3200');
    const row = `figure[aria-label="Orders of the pair"] tr[data-key="${orderHash}"]`;
    await saying(page, row, 'ACTIVE');
    await stack.freeze('projector');
    try {
      await saying(page, 'header', /✕ \d+ of \d+ stale/);
      await saying(page, row, 'ACTIVE, stale');
      expect(await page.locator(row).getAttribute('class')).toContain('stale');
      await saying(page, '#depth-words', 'and sell – WETH');
      await saying(page, '#depth-empty', 'Nothing can be filled now: ');
      expect(await page.locator('canvas').count()).toBe(0);
      await goTo(page, 'health');
      const wrong = 'figure[aria-label=State] tr.wrong';
      await saying(page, wrong, '✕ projector: does not answer');
      await saying(page, wrong, /✕ Stale partitions of the book: [1-9]/);
      // What is wrong stands before all that is well, at the top of the view.
      const rows = await page
        .locator('figure[aria-label=State] tbody tr')
        .evaluateAll((all) => all.map(({ className }) => className));
      expect(rows).toEqual([...rows].sort().reverse());
      expect(await page.locator('main figure').first().getAttribute('aria-label')).toBe('State');
      const runbook = await page.locator(`${wrong} a`).first().getAttribute('href');
      expect(runbook).toBe('/local/runbook#projectordown');
      await page.goto(new URL(`${runbook}`, consoleUrl()).href);
      await page.locator('#projectordown').waitFor();
    } finally {
      stack.signal('SIGCONT', 'projector');
    }
  });
});
