import { execFile, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { HDNodeWallet } from 'ethers';
import { findRoot } from '../conformance/find-root.js';
import { hasPython, pythonEnvironment } from '../examples/find-python.js';

const run = promisify(execFile);
const has = (command: string) => spawnSync(command, ['--version']).error === undefined;

/** The programs of the page that can run here: a command, and the file that it gets. */
export const programs = [
  [process.execPath, 'order.mjs'],
  ...(hasPython ? [['python3', 'order.py']] : []),
  ...(['curl', 'jq', 'cast'].every(has) ? [['sh', 'order.sh']] : []),
] as [command: string, file: string][];

/** Reads the page /docs as a maker's browser does. */
export async function readDocumentPage(baseUrl: string) {
  const html = await (await fetch(`${baseUrl}/docs`)).text();
  return {
    html,
    /** Runs a program that the page shows, with its variables. @returns its lines */
    async runProgram(command: string, file: string, environment: Readonly<Record<string, string>>): Promise<string> {
      const figure = html.split(`<figcaption>${file}</figcaption>`)[1] ?? '';
      const [, code = ''] = /<code>(.*?)<\/code>/s.exec(figure) ?? [];
      // Put the program where it finds the package that it imports.
      const folder = mkdtempSync(join(findRoot(), 'node_modules', '.program-'));
      try {
        writeFileSync(join(folder, file), textOf(code).replaceAll('BASE_URL', baseUrl));
        const env = { PATH: process.env['PATH'], ...pythonEnvironment, ...environment };
        const { stdout } = await run(command, [file], { env, cwd: folder });
        return stdout;
      } finally {
        rmSync(folder, { recursive: true, force: true });
      }
    },
  };
}

const named: Readonly<Record<string, string>> = { lt: '<', gt: '>', quot: '"', amp: '&' };

function textOf(html: string): string {
  return html
    .replace(/<[^>]+>/g, '')
    .replace(/&(?:#(x?)([0-9a-f]+)|(\w+));/gi, (_, hex: string, code: string, name?: string) =>
      name === undefined ? String.fromCharCode(Number.parseInt(code, hex === '' ? 10 : 16)) : (named[name] ?? ''),
    );
}

/** A page's call to a wallet (EIP-1193). */
export interface WalletCall {
  readonly method: string;
  readonly params?: unknown;
}

/** Answers a page's call as a wallet would. */
export async function answerAsWallet(
  wallet: HDNodeWallet,
  chainId: number,
  { method, params }: WalletCall,
): Promise<unknown> {
  if (method === 'eth_requestAccounts' || method === 'eth_accounts') return [wallet.address];
  if (method === 'eth_chainId') return `0x${chainId.toString(16)}`;
  if (method !== 'eth_signTypedData_v4') throw new Error(`no wallet has ${method}`);
  const { domain, types, message } = JSON.parse(String((params as unknown[])[1]));
  const { EIP712Domain: _, ...structs } = types;
  return wallet.signTypedData(domain, structs, message);
}
