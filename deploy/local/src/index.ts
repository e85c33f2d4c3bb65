export {
  type DeployedContracts,
  type DeployedPool,
  type DeployOptions,
  deployContracts,
} from './deploy-contracts.js';
export type { DeployedToken } from './fund-makers.js';
export { readGatewayEnvironment } from './gateway-env.js';
export { readRoutes, routeOf } from './route-requests.js';
export { runGateway } from './run-gateway.js';
export { runStack, type Stack, type StackRun } from './run-stack.js';
export { readStackEnvironment } from './stack-env.js';
export { type Addresses, startParts } from './start-parts.js';
export { divideRights } from './start-services.js';
export { type Supervised, type Supervision, supervise } from './supervise.js';
export {
  type ProcessEntry,
  readProcessesFile,
  readStackFile,
  type StackFile,
  writeProcessesFile,
  writeStackFile,
} from './write-stack-files.js';
