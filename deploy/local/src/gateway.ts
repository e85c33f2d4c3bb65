import { readGatewayEnvironment } from './gateway-env.js';
import { readRoutes } from './route-requests.js';
import { runGateway } from './run-gateway.js';

try {
  const gateway = await runGateway(readGatewayEnvironment(process.env), readRoutes(), (line) =>
    console.error(`${new Date().toISOString()} ${line}`),
  );
  const stop = () => void gateway.stop().then(() => process.exit(0));
  process.once('SIGTERM', stop);
  process.once('SIGINT', stop);
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
