import { relative, resolve } from 'node:path';
import { PartError } from '@makerbook/parts';
import { readOptions, SettingsError } from '@makerbook/settings';
import { runStack, type Stack } from './run-stack.js';
import { given, readStackEnvironment, type StackSettings } from './stack-env.js';

readOptions(
  `npm start
  starts Makerbook with all that it needs, until Ctrl-C. Settings come from the environment: PORT, MAKERBOOK_DATA and those of
  deploy/local/README.md`,
  {},
);
const startedAtMs = performance.now();
const report = (line: string) => console.log(line);

try {
  await main(readStackEnvironment(process.env));
} catch (error) {
  console.error(error instanceof PartError ? explain(error) : error instanceof SettingsError ? error.message : error);
  process.exit(1);
}

async function main(settings: StackSettings): Promise<void> {
  const stack = runStack(settings, process.env, report);
  const order = stopOnSignal(stack.stop);
  try {
    const { addresses } = await stack.ready;
    report(summary(addresses, settings));
  } catch (error) {
    // A signal during the start is no failure: its handler ends the process.
    if (!order.isStopping()) throw error;
  }
}

/** Stops the stack at Ctrl-C, SIGTERM, a closed terminal, or the end of the process that started this one. */
function stopOnSignal(stopStack: () => Promise<void>): { isStopping: () => boolean } {
  let isStopping = false;
  const stop = () => {
    if (isStopping) return;
    isStopping = true;
    report('stopping');
    void stopStack().then(() => {
      report('stopped');
      process.exit(0);
    });
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, stop);
  process.on('disconnect', stop);
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
  return { isStopping: () => isStopping };
}

function explain(error: PartError): string {
  const tail = error.logTail === '' ? '' : `${error.logTail.replace(/^/gm, '  | ')}\n`;
  return `${tail}${error.message}`;
}

function summary({ baseUrl, consoleUrl, ...rest }: Stack['addresses'], settings: StackSettings): string {
  const shown = relative(process.cwd(), resolve(settings.MAKERBOOK_DATA)) || '.';
  // Do not print a given URL: it may hold a password.
  const urlOf = (name: 'DATABASE_URL' | 'REDIS_URL' | 'RPC_URL', url: string) =>
    given(settings[name]) === undefined ? url : `that of ${name}`;
  const seconds = ((performance.now() - startedAtMs) / 1000).toFixed(1);
  const others = shown === '.local' ? '' : `; give it and the others MAKERBOOK_DATA=${shown} too`;
  return `
Makerbook is ready (${seconds} s).

  base URL    ${baseUrl}      to read and try: ${baseUrl}/docs
  console     ${consoleUrl === undefined ? 'off' : `${consoleUrl}      for operators`}
  Kafka       ${rest.kafkaBrokers}
  Postgres    ${urlOf('DATABASE_URL', rest.databaseUrl)}
  Redis       ${urlOf('REDIS_URL', rest.redisUrl)}
  chain       ${urlOf('RPC_URL', rest.rpcUrl)}  (id ${rest.chainId}, LimitOrderProtocol ${rest.limitOrderProtocol})
  addresses   ${shown}/stack.json
  logs        ${shown}/logs/

Next: npm run example:maker         places two orders and cancels one${others}
      npm run demo                  follows orders from their signature to their end
      npm run makers -- add 0x…     puts a maker's address on the whitelist
      curl ${baseUrl}/readyz
Stop: Ctrl-C
`;
}
