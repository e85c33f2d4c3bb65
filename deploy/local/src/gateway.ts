import { onStrayErrors } from '@makerbook/http';
import { readGatewayEnvironment } from './gateway-env.js';
import { openLocalStack } from './prepare-makers.js';
import { type Route, readRoutes } from './route-requests.js';
import { runGateway } from './run-gateway.js';

/** Routes of the operators' port: the console, and the book that it reads. */
const consoleRoutes: readonly Route[] = [
  { path: '/console', match: 'prefix', service: 'feed' },
  { path: '/v0alpha/book', match: 'prefix', service: 'feed' },
];

try {
  const settings = readGatewayEnvironment(process.env);
  const log = (line: string) => console.error(`${new Date().toISOString()} ${line}`);
  onStrayErrors((error) => {
    console.error(error);
    process.exit(1);
  });
  const { MAKERBOOK_DATA: folder } = settings;
  const local = folder === '' ? undefined : openLocalStack(folder, process.env);
  const gateways = [await runGateway(settings, readRoutes(), log, local?.forMakers)];
  if (settings.CONSOLE_URL !== '') {
    const own = { ...settings, HOST: '127.0.0.1', PORT: settings.CONSOLE_PORT, FEED_URL: settings.CONSOLE_URL };
    gateways.push(await runGateway(own, consoleRoutes, log, local?.forOperators));
  }
  const stop = () => void Promise.all(gateways.map((gateway) => gateway.stop())).then(() => process.exit(0));
  process.once('SIGTERM', stop);
  process.once('SIGINT', stop);
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
