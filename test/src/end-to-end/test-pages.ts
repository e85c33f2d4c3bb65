import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Wallet } from 'ethers';
import type { Page } from 'playwright-core';
import { eventually } from '../kit/eventually.js';
import { findFaults, noteComplaints, openBrowser, sizes } from '../kit/open-browser.js';
import type { WholeStack } from './open-whole.js';
import { answerAsWallet, type WalletCall } from './read-documents.js';

const SEEN_MS_MAX = 120_000;

/** Tests the pages below /docs in a browser. */
export function testPages(whole: () => WholeStack): void {
  let browser: Awaited<ReturnType<typeof openBrowser>>;
  const complaints: string[] = [];
  beforeAll(async () => {
    browser = await openBrowser();
  });
  afterAll(() => browser?.stop());

  async function openPage(path: string, options: Parameters<typeof browser.newContext>[0] = {}): Promise<Page> {
    const page = await (await browser.newContext({ viewport: sizes.wide, ...options })).newPage();
    page.setDefaultTimeout(SEEN_MS_MAX);
    const { baseUrl } = whole().stack.addresses;
    noteComplaints(page, baseUrl, complaints);
    await page.goto(`${baseUrl}${path}`);
    return page;
  }

  test('prepare a maker on a local stack, whose wallet then places, lists and cancels', async () => {
    const { folder, addresses } = whole().stack;
    const told = await (await fetch(`${addresses.baseUrl}/local/stack.json`)).json();
    expect(told).toEqual({ folder, tokens: addresses.tokens, consoleUrl: addresses.consoleUrl });
    const wallet = Wallet.createRandom();
    const page = await openPage('/docs/try');
    await page.exposeFunction('askWallet', (call: WalletCall) => answerAsWallet(wallet, addresses.chainId, call));
    await page.evaluate('window.ethereum = { request: askWallet }');
    await page.getByText('New throw-away key').click();
    await page.getByText('Browser wallet').click();
    await page.getByText(wallet.address, { exact: true }).waitFor();
    await page.getByText('Prepare this maker').click();
    await page.getByText('It is on the whitelist, has gas and tokens').waitFor();
    // The clock of the chain is ahead.
    await page.getByLabel('Expires in, minutes').fill('1000000');
    // An amount is taken with as many decimals as its token has.
    for (const [at, { decimals }] of addresses.tokens.slice(0, 2).entries()) {
      const amount = at === 0 ? 'makingAmount' : 'takingAmount';
      const isTaken = async (text: string) => {
        await page.locator(`[name=${amount}]`).fill(text);
        return (await page.locator(`[name=${amount}]:valid`).count()) === 1;
      };
      const tried = [
        await isTaken(`1.${'0'.repeat(decimals + 1)}`),
        await isTaken(`${2 - at}.${'0'.repeat(decimals)}`),
      ];
      expect(tried).toEqual([false, true]);
    }
    await page.getByText('Sign and post').click();
    const row = page.locator('#orders tbody tr');
    await row.filter({ hasText: `2 ${addresses.tokens[0]?.symbol}1 ${addresses.tokens[1]?.symbol}` }).waitFor();
    await eventually(async () => {
      await page.getByText('Sign and list').click();
      return row.locator('.ACTIVE').isVisible();
    }, true);
    // Each request has its own line, so a second list can be told from the first.
    const lines = await page.locator('#log p').allTextContents();
    expect(lines).toContain('2. GET /v0alpha/limit-orders → 200');
    expect(new Set(lines).size).toBe(lines.length);
    expect(await page.locator('#log summary').allTextContents()).toContain('Signed');
    expect(await page.locator('#log pre').first().textContent()).toMatch(/^digest 0x[0-9a-f]{64}\s.*"issuedAt"/s);
    await page.getByText('Cancel', { exact: true }).click();
    await page.getByText('0 open orders').waitFor();
    expect(await row.count()).toBe(0);
    await page.context().close();
    expect(complaints).toEqual([]);
  });

  test('find the sections that have the words of a search', async () => {
    const page = await openPage('/docs');
    await page.getByLabel('Search these pages').fill('isolation.level');
    await page.getByText('For routers: Reading the book').click();
    await page.locator('h2#reading-the-book').waitFor();
    await page.context().close();
  });

  test.each([
    ['wide', 'light'],
    ['narrow', 'dark'],
  ] as const)('have no fault that axe finds, %s and %s', async (size, colorScheme) => {
    for (const path of ['/docs', '/docs/try', '/docs/makers', '/docs/endpoints', '/docs/routers']) {
      const page = await openPage(path, { viewport: sizes[size], colorScheme });
      expect([path, await findFaults(page)]).toEqual([path, []]);
      await page.context().close();
    }
    expect(complaints).toEqual([]);
  });
}
