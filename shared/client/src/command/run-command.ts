import type { Info } from '@makerbook/contracts-http';
import { paths } from '@makerbook/contracts-http/paths';
import { readAddress, readPrivateKey, readServiceUrl, WrongValue, ZERO_ADDRESS } from '@makerbook/contracts-primitives';
import { VoidSigner } from 'ethers';
import { BotFailed } from '../bad-network/run-network.js';
import { callService, readObject } from '../call-service.js';
import { createClient } from '../create-client.js';
import { MakerbookError } from '../errors.js';
import { retry } from '../retry-calls.js';
import type { DomainOptions } from '../sign-requests.js';
import { type Command, commands, type Service } from './commands.js';
import { PlacingFailed } from './name-order.js';
import { type OptionName, shown, splitWords, type Words, WrongWords } from './read-words.js';

const USAGE = `makerbook <command>
${Object.values(commands)
  .map(({ usage: [words, does] }) => `  ${words}\n      ${does}`)
  .join('\n')}
  --maker ADDRESS with any command: the maker, if MAKER_KEY is a cancel key or the key of a contract wallet
  --version

MAKER_KEY is the maker's private key, MAKERBOOK_URL the service (http://127.0.0.1:8080 if not given). With MAKERBOOK_DOMAIN, such
as 8217:Makerbook:0x… (chain, name and contract, as info has them), commands work while info gets no answer. Amounts are in the
token's smallest unit, in digits or 0x-hex. A length of time has its unit (30s, 15m, 12h, 7d); a time is like
2030-12-31T23:59:59Z. Each line that is printed is JSON. A fault is one line on standard error. Exit codes: 1, it was refused; 2,
the words are wrong, and nothing was sent; 3, no answer tells whether it was done.`;

const TIMEOUT_MS = 10_000;

/** The environment of a command, and where it prints. */
export interface Terminal {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly print: (line: string) => void;
  readonly complain: (line: string) => void;
  /** The version of the package. */
  readonly version: string;
  readonly fetch?: typeof fetch;
}

/** Runs one command of `makerbook`. @returns the exit code: 0, or the fault's. A fault prints one line of JSON */
export async function runCommand(words: readonly string[], terminal: Terminal): Promise<number> {
  const { environment, print, complain, version } = terminal;
  try {
    const { help, version: isVersionAsked, name, ...rest } = splitWords(words);
    if (help || isVersionAsked) {
      print(help ? USAGE : version);
      return 0;
    }
    const command = readCommand(name, rest);
    const run = command.read(rest);
    const connect = readConnection(environment, rest.values.maker, command);
    const result = run(await connect(terminal.fetch ?? fetch));
    const values = result instanceof Promise ? [result] : result;
    for await (const value of values) print(JSON.stringify(value, inDigits));
    return 0;
  } catch (error) {
    complain(JSON.stringify(describeFault(error)));
    return exitCodeOf(error);
  }
}

const inDigits = (_: string, value: unknown) => (typeof value === 'bigint' ? String(value) : value);

function readCommand(name: string, { values, rest }: Words): Command {
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
  const hint = '`makerbook --help` lists all commands';
  if (command === undefined)
    throw new WrongWords(`${name === '' ? 'no command' : `unknown command ${shown(name)}`}: ${hint}`);
  const taken: readonly OptionName[] = [...(command.options ?? []), 'maker'];
  const wrong = (Object.keys(values) as OptionName[]).find((option) => !taken.includes(option));
  if (wrong !== undefined) throw new WrongWords(`${name} takes no --${wrong}: ${hint}`);
  const [word] = rest;
  if (word !== undefined && command.takesMore !== true)
    throw new WrongWords(`${name} takes no ${shown(word)}: ${hint}`);
  return command;
}

/** @returns a function that asks for the domain, and opens a client. @throws WrongValue before anything is sent */
function readConnection(environment: Terminal['environment'], maker: string | undefined, { key: need }: Command) {
  const baseUrl = readServiceUrl('MAKERBOOK_URL', environment['MAKERBOOK_URL'] || 'http://127.0.0.1:8080');
  const key = environment['MAKER_KEY'];
  if (key === undefined && need === undefined)
    throw new WrongWords('MAKER_KEY is missing: the private key of the maker');
  const hasKey = key !== undefined && need !== 'unused';
  const signer = hasKey ? readPrivateKey('MAKER_KEY', key) : new VoidSigner(ZERO_ADDRESS);
  const named = maker === undefined ? {} : { maker: readAddress('--maker', maker) };
  const given = environment['MAKERBOOK_DOMAIN'];
  const known = given ? parseDomain(given) : undefined;
  return async (fetch: typeof globalThis.fetch): Promise<Service> => {
    const calling = { baseUrl, timeoutMs: TIMEOUT_MS, fetch };
    let info: Promise<Info> | undefined;
    const readInfo = () => {
      info ??= retry(async () => readObject<Info>(await callService({ method: 'GET', path: paths.info }, calling)));
      return info;
    };
    const domain = known ?? domainOf(await readInfo());
    const client = createClient({ baseUrl, fetch, signer, ...domain, ...named, retry: {} });
    return { readInfo, client, baseUrl, fetch, hasKey };
  };
}

function parseDomain(text: string): DomainOptions {
  const [, chainId, serviceName, contract] = /^(\d{1,15}):(.+):(0x[0-9a-fA-F]{40})$/.exec(text) ?? [];
  if (chainId === undefined || serviceName === undefined || contract === undefined)
    throw new WrongWords('MAKERBOOK_DOMAIN must be <chain id>:<service name>:<contract>, such as 8217:Makerbook:0x…');
  return { chainId: Number(chainId), serviceName, limitOrderProtocol: contract };
}

function domainOf({ domains, serviceName }: Info): DomainOptions {
  if (domains?.order === undefined) throw new WrongWords('the service at MAKERBOOK_URL is not Makerbook');
  const { chainId, verifyingContract: limitOrderProtocol } = domains.order;
  return { serviceName, chainId, limitOrderProtocol };
}

/** The fields of a fault, as standard error shows them. */
function describeFault(error: unknown): object {
  if (error instanceof PlacingFailed) {
    const { cause, orderHash, salt } = error;
    return { ...describeFault(cause), orderHash, salt };
  }
  if (error instanceof WrongWords || error instanceof WrongValue) return { code: 'wrong_words', detail: error.message };
  if (error instanceof BotFailed) return { code: 'bot_failed', detail: error.message };
  if (!(error instanceof MakerbookError)) return { code: 'failed', detail: String((error as Error).message ?? error) };
  const { code, detail, status, retryable, mayHaveHappened, problem } = error;
  const { type: _, title: __, ...told } = problem ?? { type: '', title: '' };
  return { ...told, code, detail, status, retryable, mayHaveHappened };
}

/** 1: refused, or a bot that did not pass. 2: wrong words, nothing was sent. 3: nobody knows whether it was done. */
function exitCodeOf(error: unknown): number {
  if (error instanceof WrongWords || error instanceof WrongValue) return 2;
  if (error instanceof BotFailed) return 1;
  if (error instanceof PlacingFailed) return exitCodeOf(error.cause);
  return error instanceof MakerbookError && !error.mayHaveHappened ? 1 : 3;
}
