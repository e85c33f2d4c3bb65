export { deployMissing, planDeployment, WELL_KNOWN_MULTICALL } from './contracts/deploy-contracts.js';
export { type Addresses, type Creation, planContracts, TEST_NATIVE, TEST_TOKENS } from './contracts/plan-contracts.js';
export { parseCommand } from './parse-command.js';
