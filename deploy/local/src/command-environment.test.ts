import { expect, test } from '@jest/globals';
import { commandEnvironment } from './command-environment.js';
import type { ProcessesFile, StackFile } from './write-stack-files.js';

const stack: StackFile = {
  baseUrl: 'http://127.0.0.1:8080',
  kafkaBrokers: '127.0.0.1:9092',
  databaseUrl: 'postgres://stack',
  redisUrl: 'redis://stack',
  rpcUrl: 'http://stack',
  chainId: 1001,
  serviceName: 'Makerbook',
  limitOrderProtocol: '0x1',
  navigator: '',
  multicall: '0x2',
  orderFiller: '0x3',
  tokens: [],
  pools: [],
  quoteSigners: [],
};
const processes: ProcessesFile = {
  supervisorPid: 1,
  settings: { PARTITIONS: '3', TOPIC_REPLICATION_FACTOR: '3' },
  processes: [
    { name: 'Kafka', pid: 2, logFile: '/kafka.log' },
    { name: 'query', pid: 3, logFile: '/query.log', port: 4, opsPort: 5 },
  ],
};

test('a command gets the addresses and the settings of the stack, and the doctor gets all that it looks at', () => {
  const shared = {
    KAFKA_BROKERS: '127.0.0.1:9092',
    DATABASE_URL: 'postgres://stack',
    PARTITIONS: '3',
    TOPIC_REPLICATION_FACTOR: '3',
    PATH: '/bin',
  };
  expect(commandEnvironment('verify', { PATH: '/bin' }, stack, processes)).toEqual(shared);
  expect(commandEnvironment('doctor', { PATH: '/bin' }, stack, processes)).toEqual({
    ...shared,
    SERVICE_NAME: 'Makerbook',
    CHAIN_ID: '1001',
    LIMIT_ORDER_PROTOCOL_ADDRESS: '0x1',
    ORDER_FILLER_ADDRESS: '0x3',
    RPC_URL: 'http://stack',
    PROCESSES: 'query=http://127.0.0.1:5',
  });
});

test('a given variable, or the file of a secret, overrides the stack unless it is empty', () => {
  const given = {
    KAFKA_BROKERS: 'elsewhere:9092',
    DATABASE_URL_FILE: '/database',
    RPC_URL_FILE: '/nodes',
    CHAIN_ID: '8217',
    PARTITIONS: '',
  };
  expect(commandEnvironment('doctor', given, stack, processes)).toEqual({
    ...given,
    PARTITIONS: '3',
    TOPIC_REPLICATION_FACTOR: '3',
    SERVICE_NAME: 'Makerbook',
    LIMIT_ORDER_PROTOCOL_ADDRESS: '0x1',
    ORDER_FILLER_ADDRESS: '0x3',
    PROCESSES: 'query=http://127.0.0.1:5',
  });
});

test('without a stack a command gets what it is given', () => {
  const given = { KAFKA_BROKERS: 'elsewhere:9092', DATABASE_URL: 'postgres://elsewhere' };
  expect(commandEnvironment('doctor', given, undefined, undefined)).toEqual({
    ...given,
    TOPIC_REPLICATION_FACTOR: '1',
  });
});
