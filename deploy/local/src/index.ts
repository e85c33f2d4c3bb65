export { deleteRecords } from './delete-records.js';
export {
  type DeployedContracts,
  type DeployedPool,
  type DeployedToken,
  type DeployOptions,
  deployContracts,
} from './deploy-contracts.js';
export { type Chance, createChance } from './draw-chance.js';
export { findFreePort, findFreePorts } from './find-free-ports.js';
export { endWithUsage, readOptions, readRange, readWhole } from './read-options.js';
export { untilFrozen } from './read-processes.js';
export { runStack, type Stack, type StackRun } from './run-stack.js';
export { type Exit, type Part, PartError } from './spawn-part.js';
export { readStackEnvironment } from './stack-env.js';
export { type AnvilOptions, type AnvilPart, startAnvil } from './start-anvil.js';
export { type KafkaCluster, type KafkaOptions, type KafkaPart, startKafka, startKafkaCluster } from './start-kafka.js';
export { type PostgresOptions, type PostgresPart, startPostgres } from './start-postgres.js';
export { type RedisOptions, type RedisPart, startRedis } from './start-redis.js';
export { type TestParts, testParts } from './test-parts.js';
export { type ProcessEntry, readProcessesFile, type StackFile } from './write-stack-files.js';
