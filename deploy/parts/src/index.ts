export { createDatabase, createRoles } from './create-database.js';
export { fetchPom, KAFKA_VERSION_VARIABLE } from './fetch-jars.js';
export { fetchLibsecp256k1 } from './fetch-libsecp256k1.js';
export { POSTGRES_VERSION_VARIABLE } from './fetch-postgres.js';
export { findFreePort, findFreePorts, isPortFree } from './find-free-ports.js';
export { type Lock, takeLock } from './lock-file.js';
export { childrenOf, startTimeOf, untilFrozen } from './read-processes.js';
export {
  type Exit,
  logTail,
  type Part,
  type PartCommand,
  PartError,
  spawnPart,
  stopLivingParts,
} from './spawn-part.js';
export { type AnvilOptions, type AnvilPart, startAnvil } from './start-anvil.js';
export { type KafkaOptions, type KafkaPart, planKafkaCluster, startKafka } from './start-kafka.js';
export { type PostgresOptions, type PostgresPart, startPostgres } from './start-postgres.js';
export { REDIS_BINARY_VARIABLE, type RedisOptions, type RedisPart, startRedis } from './start-redis.js';
export type { AskedCall, RpcAnswer } from './strict-node/serve-rpc.js';
export type { StrictNode, ToldFaults } from './strict-node/start-strict-node.js';
export { type Authority, type CertificateFiles, createAuthority } from './testing/certificates.js';
export { type Chance, createChance } from './testing/chance.js';
export { deleteRecords } from './testing/delete-records.js';
export { type LoadRequest, loadUntilRefused } from './testing/load-until-refused.js';
export { type Gate, type Misbehaviour, startMisbehavingNode } from './testing/misbehaving-node.js';
export { askRedis, createRedisUser, type RedisUser } from './testing/redis-user.js';
export { replaceMethod } from './testing/replace-method.js';
export { Draws } from './testing/simulation/draws.js';
export { Life, VirtualTime } from './testing/simulation/keep-virtual-time.js';
export {
  type Calm,
  type Fate,
  Requests,
  type Send,
  type SendOptions,
  sendAtOnce,
} from './testing/simulation/send-requests.js';
export { type S3Part, startS3 } from './testing/start-s3.js';
export { default as startTestParts } from './testing/start-test-parts.js';
export { default as stopTestParts } from './testing/stop-test-parts.js';
export { openTcpGate, type TcpGate } from './testing/tcp-gate.js';
export { TEST_PARTS_VARIABLE, type TestAddresses, type TestParts, testParts } from './testing/test-parts.js';
export { until } from './testing/until.js';
