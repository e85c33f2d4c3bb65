import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type Browser, chromium, type LaunchOptions, type Page } from 'playwright-core';

/** False if no Chromium runs here. CHROMIUM names one, and a package brings one for Linux on x64. */
export const canOpenBrowser =
  process.env['CHROMIUM'] !== undefined || (process.platform === 'linux' && process.arch === 'x64');
if (!canOpenBrowser) console.warn('the pages are not tested in a browser: name a Chromium by CHROMIUM=/path/to/it');

const LAUNCH_MS_MAX = 120_000;
const args = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-sync',
].concat(['--disable-background-networking', '--disable-component-update']);

/** Sizes of a window. */
export const sizes = { wide: { width: 1280, height: 900 }, narrow: { width: 390, height: 844 } };
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** Lists the faults that axe finds on a page. */
export async function findFaults(page: Page): Promise<string[]> {
  await page.evaluate(axe);
  return page.evaluate(async () => {
    const { violations } = await (
      globalThis as unknown as {
        axe: { run(options: object): Promise<{ violations: { id: string; nodes: { html: string }[] }[] }> };
      }
    ).axe.run({ rules: { 'target-size': { enabled: true } } });
    return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`);
  });
}

/** Notes the errors of a page, and its requests to anything but its own service. */
export function noteComplaints(page: Page, baseUrl: string, complaints: string[]): void {
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()));
  page.on('request', (request) => {
    if (!request.url().startsWith(`${baseUrl}/`)) complaints.push(`it asked ${request.url()}`);
  });
}

/** Opens a headless Chromium. */
export async function openBrowser(): Promise<Pick<Browser, 'newContext'> & { stop(): Promise<void> }> {
  const folder = mkdtempSync(join(tmpdir(), 'makerbook-chromium-'));
  const remove = () => rmSync(folder, { recursive: true, force: true });
  try {
    const given = process.env['CHROMIUM'];
    const own = given === undefined ? await unpack(folder) : { executablePath: given };
    const browser = await chromium.launch({ args, timeout: LAUNCH_MS_MAX, ...own });
    return {
      newContext: (options) => browser.newContext({ locale: 'en-US', ...options }),
      async stop() {
        await browser.close();
        remove();
      },
    };
  } catch (error) {
    remove();
    throw error;
  }
}

/** Unpacks Chromium with the libraries and the font that it needs. The machine may have none. */
async function unpack(folder: string): Promise<Pick<LaunchOptions, 'executablePath' | 'env'>> {
  const { NODE_OPTIONS: _, ...inherited } = process.env;
  // The package unpacks its libraries only if it takes the machine for this runtime.
  const env = { ...inherited, TMPDIR: folder, AWS_LAMBDA_JS_RUNTIME: 'nodejs24.x' };
  const script = join(import.meta.dirname, 'unpack-chromium.js');
  const { stdout } = await promisify(execFile)(process.execPath, [script], { env });
  const fonts = join(folder, 'fonts.conf');
  const [font, cache] = [`<dir>${join(folder, 'fonts')}</dir>`, `<cachedir>${join(folder, 'cache')}</cachedir>`];
  writeFileSync(fonts, `<?xml version="1.0"?><fontconfig>${font}${cache}</fontconfig>`);
  const libraries = join(folder, 'al2023', 'lib');
  return {
    executablePath: stdout.trim(),
    env: { ...inherited, LD_LIBRARY_PATH: libraries, FONTCONFIG_FILE: fonts } as Record<string, string>,
  };
}
