import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { testParts } from '@makerbook/local-stack';

const main = fileURLToPath(new URL('../../../projector/dist/main.js', import.meta.url));

/** The real projector as a process of its own, which can be killed and started again. */
export interface ProjectorProcess {
  start(): void;
  end(signal: 'SIGTERM' | 'SIGKILL'): Promise<void>;
}

export async function openProjector(prefix: string, partitions: number): Promise<ProjectorProcess> {
  const parts = testParts();
  const env = {
    PATH: process.env['PATH'],
    KAFKA_BROKERS: parts.kafkaBrokers,
    DATABASE_URL: await parts.databaseUrl(),
    REDIS_URL: parts.redisUrl,
    REDIS_KEY_PREFIX: prefix,
    PARTITIONS: String(partitions),
    TOPIC_PREFIX: prefix,
    OPS_PORT: '0',
    LOG_LEVEL: 'error',
    MARK_INTERVAL_MS: '200',
  };
  let child: ChildProcess | undefined;
  return {
    start: () => {
      child = spawn(process.execPath, [main], { env, stdio: ['ignore', 'inherit', 'inherit'] });
    },
    end: async (signal) => {
      if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
      const exited = once(child, 'exit');
      child.kill(signal);
      await exited;
      child = undefined;
    },
  };
}
