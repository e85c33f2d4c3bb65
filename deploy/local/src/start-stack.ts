import { relative, resolve } from 'node:path';
import { SettingsError } from '@makerbook/settings';
import { runStack, type Stack } from './run-stack.js';
import { PartError } from './spawn-part.js';
import { readStackEnvironment, type StackSettings } from './stack-env.js';

const startedAtMs = performance.now();
const say = (line: string) => console.log(line);

try {
  await main(readStackEnvironment(process.env));
} catch (error) {
  console.error(error instanceof PartError ? explain(error) : error instanceof SettingsError ? error.message : error);
  process.exit(1);
}

async function main(settings: StackSettings): Promise<void> {
  const stack = runStack(settings, process.env, say);
  const order = endOnOrder(stack.stop);
  try {
    const { addresses } = await stack.ready;
    say(summary(addresses, resolve(settings.MAKERBOOK_DATA)));
  } catch (error) {
    // An order to stop in the middle of the start is no failure: whoever took it ends the process.
    if (!order.isGiven()) throw error;
  }
}

/** Ctrl-C, SIGTERM, a closed terminal, and the end of the process that started this one: each is an order to stop. */
function endOnOrder(stopStack: () => Promise<void>): { isGiven: () => boolean } {
  let isGiven = false;
  const stop = () => {
    if (isGiven) return;
    isGiven = true;
    say('stopping');
    void stopStack().then(() => {
      say('stopped');
      process.exit(0);
    });
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, stop);
  process.on('disconnect', stop);
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
  return { isGiven: () => isGiven };
}

function explain(error: PartError): string {
  const tail = error.logTail === '' ? '' : `${error.logTail.replace(/^/gm, '  | ')}\n`;
  return `${tail}${error.message}`;
}

function summary({ baseUrl, ...rest }: Stack['addresses'], folder: string): string {
  const shown = relative(process.cwd(), folder) || '.';
  const seconds = ((performance.now() - startedAtMs) / 1000).toFixed(1);
  return `
Makerbook is ready (${seconds} s).

  base URL    ${baseUrl}
  Kafka       ${rest.kafkaBrokers}
  Postgres    ${rest.databaseUrl}
  Redis       ${rest.redisUrl}
  chain       ${rest.rpcUrl}  (id ${rest.chainId}, LimitOrderProtocol ${rest.limitOrderProtocol})
  addresses   ${shown}/stack.json
  logs        ${shown}/logs/

Next: npm run demo                  follows orders from their signature to their end
      npm run makers -- add 0x…     puts a maker's address on the whitelist
      curl ${baseUrl}/readyz
Stop: Ctrl-C
`;
}
