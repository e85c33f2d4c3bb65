import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type Calls, createCalls, keySigner, type Signer, walletSigner } from '@makerbook/docs/call-service';
import type { HDNodeWallet } from 'ethers';
import { findRoot } from '../conformance/find-root.js';

const run = promisify(execFile);

/** The page /docs, as a maker's browser has it. */
export interface DocumentPage {
  readonly html: string;
  /** Runs the program that the page shows, with its variables. @returns its lines */
  runProgram(environment: Readonly<Record<string, string>>): Promise<string>;
  /** The calls of its panel, signed by a key of the page. */
  withKey(key: string): Calls;
  /** The same, signed by a wallet in the browser. */
  withWallet(wallet: HDNodeWallet): Promise<Calls>;
}

export async function readDocumentPage(baseUrl: string): Promise<DocumentPage> {
  const html = await (await fetch(`${baseUrl}/docs`)).text();
  const [, given = ''] = /<script type="application\/json" id="interface">(.*?)<\/script>/.exec(html) ?? [];
  const callsOf = (signer: Signer) => createCalls(JSON.parse(given), baseUrl, signer);
  return {
    html,
    async runProgram(environment) {
      const [, code = ''] = /<figcaption><code>order\.mjs<\/code>.*?<code>(.*?)<\/code>/s.exec(html) ?? [];
      // Where the package that it imports is found.
      const folder = mkdtempSync(join(findRoot(), 'node_modules', '.program-'));
      try {
        const file = join(folder, 'order.mjs');
        writeFileSync(file, unescapeHtml(code).replace("'BASE_URL'", `'${baseUrl}'`));
        const { stdout } = await run(process.execPath, [file], { env: environment });
        return stdout;
      } finally {
        rmSync(folder, { recursive: true, force: true });
      }
    },
    withKey: (key) => callsOf(keySigner({ getItem: () => key, setItem: () => undefined }, false)),
    withWallet: async (wallet) => callsOf(await walletSigner({ request: (call) => answerAsWallet(wallet, call) })),
  };
}

/** What a wallet answers by EIP-1193. */
async function answerAsWallet(
  wallet: HDNodeWallet,
  { method, params = [] }: { readonly method: string; readonly params?: readonly unknown[] },
): Promise<unknown> {
  if (method === 'eth_requestAccounts') return [wallet.address];
  if (method !== 'eth_signTypedData_v4') throw new Error(`no wallet has ${method}`);
  const { domain, types, message } = JSON.parse(String(params[1]));
  const { EIP712Domain: _, ...structs } = types;
  return wallet.signTypedData(domain, structs, message);
}

function unescapeHtml(html: string): string {
  return html.replace(/&#(\d+);/g, (_, code: string) => String.fromCharCode(Number(code)));
}
