import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { SignedOrder } from '@makerbook/client';
import { parseUnits } from 'ethers';
import type { Page } from 'playwright-core';
import { canOpenBrowser, openBrowser } from '../kit/open-browser.js';
import { openChain, openMakers, type TestChain, type TestMaker } from '../kit/open-maker.js';
import { type OpenStack, openStack } from '../kit/open-stack.js';

const SEEN_MS_MAX = 120_000;
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const sizes = { wide: { width: 1280, height: 900 }, narrow: { width: 390, height: 844 } };
let stack: OpenStack;
let chain: TestChain;
let browser: Awaited<ReturnType<typeof openBrowser>>;
let maker: TestMaker;
const complaints: string[] = [];
const describeIfBrowser = canOpenBrowser ? describe : describe.skip;

async function openPage(options: Parameters<typeof browser.newContext>[0] = {}): Promise<Page> {
  const page = await (await browser.newContext({ viewport: sizes.wide, ...options })).newPage();
  page.setDefaultTimeout(SEEN_MS_MAX);
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()));
  page.on('request', (request) => {
    if (!request.url().startsWith(`${stack.addresses.baseUrl}/`)) complaints.push(`it asked ${request.url()}`);
  });
  await page.goto(`${stack.addresses.baseUrl}/console`);
  await page.getByText(/^✓ all \d+ fresh/).waitFor();
  return page;
}

/** Waits until the page says this in an element. */
const saying = (page: Page, selector: string, text: string | RegExp) =>
  page.locator(selector).filter({ hasText: text }).first().waitFor();
const goTo = (page: Page, view: string) => page.goto(`${stack.addresses.baseUrl}/console#${view}`);

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
    [stack, browser] = await Promise.all([openStack({ ownParts: false }), openBrowser()]);
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

  test('shows an order that is posted, and how the button fills a part of it', async () => {
    const page = await openPage();
    const { orderHash } = await sell('2', '6000');
    const row = `#offers tr[data-key="${orderHash}"]`;
    await saying(page, row, 'ACTIVE');
    expect(await page.locator(row).textContent()).toMatch(/^Sell3,000.002 WETHACTIVE0x/);
    expect(await page.locator(`${row} meter`).getAttribute('value')).toBe('1');

    await goTo(page, 'quote');
    await page.selectOption('#quote-pair', { label: 'pay USDT, get WETH' });
    await page.fill('[name=amount]', '1500');
    await page.click('#quote-form button');
    await saying(page, '#quote-said', 'Pay 1,500 USDT, get 0.5 WETH, from 1 order');
    expect(await page.inputValue('#calldata')).toMatch(/^0xae325c02/);
    await page.click('#fill');
    await saying(page, '#quote-said', /^Filled in block \d+/);

    await goTo(page, 'pairs');
    await saying(page, row, '1.5 WETH');
    expect(await page.locator(`${row} meter`).getAttribute('value')).toBe('0.75');
    await goTo(page, `order/${orderHash}`);
    await saying(page, '#story', /ACTIVE\s*FILLED/);
    await saying(page, '#terms', '1.5 WETH, 75.00 %');
    await goTo(page, `maker/${maker.wallet.address.toLowerCase()}`);
    await saying(page, '#funds', '✓ covers all');
    expect(await page.locator('#command-suspend').textContent()).toContain(
      `makers -- suspend ${maker.wallet.address.toLowerCase()}`,
    );
    await goTo(page, 'quote');
    await page.fill('[name=amount]', '100,000');
    await page.click('#quote-form button');
    await saying(page, '#quote-said', 'Pay 4,500 USDT, get 1.5 WETH, from 1 order');
    await page.click('#fill');
    await saying(page, '#quote-said', /^Filled in block \d+/);
    await goTo(page, `order/${orderHash}`);
    await saying(page, '#order-said', 'It is not in the book now.');
    await saying(page, '#story', /FILLED.*FILLED/);
    await goTo(page, 'health');
    await saying(page, '#counts', /filled in part 1.*FILLED 1/);
    await saying(page, '#durations', /POST → ACTIVE[^0-9]*1/);
    await page.context().close();
    expect(complaints).toEqual([]);
  });

  test.each([
    ['wide', 'light'],
    ['narrow', 'dark'],
  ] as const)('has no fault that axe finds, %s and %s', async (size, colorScheme) => {
    const page = await openPage({ viewport: sizes[size], colorScheme });
    const { orderHash } = await sell('1', '3100');
    await saying(page, `#offers tr[data-key="${orderHash}"]`, 'ACTIVE');
    await page.evaluate(axe);
    const views = ['pairs', 'quote', 'health', `order/${orderHash}`, `maker/${maker.wallet.address.toLowerCase()}`];
    for (const view of views) {
      await goTo(page, view);
      await page.locator(`#view-${view.split('/')[0]}`).waitFor();
      const faults = await page.evaluate(async () => {
        const { violations } = await (
          globalThis as unknown as {
            axe: { run(): Promise<{ violations: { id: string; nodes: { html: string }[] }[] }> };
          }
        ).axe.run();
        return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`);
      });
      expect([view, faults]).toEqual([view, []]);
    }
    await page.context().close();
  });

  test('is used by the keyboard alone', async () => {
    const page = await openPage();
    const { orderHash } = await sell('1', '3150');
    await saying(page, `#offers tr[data-key="${orderHash}"]`, 'ACTIVE');
    const focused = () => page.evaluate('document.activeElement.textContent');
    await page.keyboard.press('Tab');
    expect(await focused()).toBe('Skip to the view');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Tab');
    expect(await focused()).toBe('Quote');
    await page.keyboard.press('Enter');
    await page.locator('#view-quote h1').waitFor();
    expect(await page.title()).toBe('A quote to try – console');
    await page.focus('#words');
    await page.keyboard.type(orderHash);
    await page.keyboard.press('Enter');
    await saying(page, '#terms', '3,150 USDT');
    await page.context().close();
  });

  test('greys the partitions of a projector that stands still, and says where its runbook is', async () => {
    const page = await openPage();
    const { orderHash } = await sell('1', '3200');
    const row = `#offers tr[data-key="${orderHash}"]`;
    await saying(page, row, 'ACTIVE');
    await stack.freeze('projector');
    try {
      await saying(page, '#fresh', /✕ \d+ of \d+ stale/);
      await saying(page, row, 'ACTIVE, stale');
      expect(await page.locator(row).getAttribute('class')).toContain('stale');
      await saying(page, '#depth-words', 'nobody sells now');
      await goTo(page, 'health');
      await saying(page, '#unwell', 'projector does not answer');
      const runbook = await page.locator('#unwell a').first().getAttribute('href');
      expect(runbook).toBe('/local/runbook#projectordown');
      await page.goto(`${stack.addresses.baseUrl}${runbook}`);
      await page.locator('#projectordown').waitFor();
    } finally {
      stack.signal('SIGCONT', 'projector');
    }
  });
});
