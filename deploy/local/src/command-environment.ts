import type { Environment } from './service-environment.js';
import type { ProcessesFile, StackFile } from './write-stack-files.js';

/**
 * Returns the environment of a command beside a stack. The stack fills in the variables that are not given.
 * @param command its first word
 * @param stack undefined if none runs
 */
export function commandEnvironment(
  command: string | undefined,
  given: Environment,
  stack: StackFile | undefined,
  processes: ProcessesFile | undefined,
): Environment {
  const own = {
    TOPIC_REPLICATION_FACTOR: '1',
    ...processes?.settings,
    ...(stack !== undefined && { KAFKA_BROKERS: stack.kafkaBrokers, DATABASE_URL: stack.databaseUrl }),
    ...(stack !== undefined && command === 'doctor' && describeStack(stack, processes)),
  };
  // A secret may be given as a file instead. The command refuses both at once.
  const isGiven = (name: string) => Boolean(given[name] || given[`${name}_FILE`]);
  return { ...given, ...Object.fromEntries(Object.entries(own).filter(([name]) => !isGiven(name))) };
}

/** Returns what the doctor looks at beside Kafka and Postgres. */
function describeStack(stack: StackFile, processes: ProcessesFile | undefined): Environment {
  const places = (processes?.processes ?? []).flatMap(({ name, opsPort }) =>
    opsPort === undefined ? [] : [`${name}=http://127.0.0.1:${opsPort}`],
  );
  return {
    SERVICE_NAME: stack.serviceName,
    CHAIN_ID: String(stack.chainId),
    LIMIT_ORDER_PROTOCOL_ADDRESS: stack.limitOrderProtocol,
    ...(stack.navigator !== '' && { NAVIGATOR_ADDRESS: stack.navigator }),
    ...(stack.orderFiller !== '' && { ORDER_FILLER_ADDRESS: stack.orderFiller }),
    RPC_URL: stack.rpcUrl,
    PROCESSES: places.join(','),
  };
}
