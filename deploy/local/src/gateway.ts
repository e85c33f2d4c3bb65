import { onStrayErrors } from '@makerbook/http';
import { readGatewayEnvironment } from './gateway-env.js';
import { openLocalStack } from './prepare-makers.js';
import { type Route, readRoutes } from './route-requests.js';
import { runGateway } from './run-gateway.js';

try {
  const settings = readGatewayEnvironment(process.env);
  const log = (line: string) => console.error(`${new Date().toISOString()} ${line}`);
  onStrayErrors((error) => {
    console.error(error);
    process.exit(1);
  });
  const { MAKERBOOK_DATA: folder } = settings;
  const local = folder === '' ? undefined : openLocalStack(folder, process.env);
  // In a deployment the console is not for everybody who reaches the API.
  const consoleRoute: Route = { path: '/console', match: 'prefix', service: 'feed' };
  const gateway = await runGateway(settings, [...readRoutes(), consoleRoute], log, local);
  const stop = () => void gateway.stop().then(() => process.exit(0));
  process.once('SIGTERM', stop);
  process.once('SIGINT', stop);
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
