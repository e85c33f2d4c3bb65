import { topicNames } from '@makerbook/contracts-events';
import { connectLog } from '@makerbook/kafka';
import { connectPostgres } from '@makerbook/postgres';
import { kafkaConnection, postgresConnection } from '@makerbook/settings';
import { silentLogger } from '@makerbook/telemetry';
import { examineCertificates } from './doctor/examine-certificates.js';
import { examineChain } from './doctor/examine-chain.js';
import { examineKeys } from './doctor/examine-keys.js';
import { examineLog } from './doctor/examine-log.js';
import { examineProcesses } from './doctor/examine-processes.js';
import { examineRows } from './doctor/examine-rows.js';
import type { Finding } from './doctor/finding.js';
import type { DoctorSettings } from './env.js';
import type { Outcome } from './outcome.js';

export interface DoctorCommand {
  readonly do: 'doctor';
  readonly isJson: boolean;
}

export const doctorUsage = [
  'doctor                         checks Kafka, Postgres, nodes, certificates and processes, and says what is wrong and',
  '                               which runbook helps; --json',
];

const CONNECT_MS_MAX = 5_000;

/** Looks at every part, and changes none. The exit code is 1 if something is wrong. */
export async function runDoctor(
  { isJson }: Omit<DoctorCommand, 'do'>,
  settings: DoctorSettings,
  nowMs: () => number,
): Promise<Outcome> {
  const log = connectLog({ ...kafkaConnection(settings), clientId: 'makerbook-doctor', logger: silentLogger });
  const postgres = connectPostgres({ ...postgresConnection(settings), poolMax: 4, connectTimeoutMs: CONNECT_MS_MAX });
  try {
    const topic = topicNames(settings.TOPIC_PREFIX).makerEvents;
    const readEnds = () => log.endOffsets(topic, { timeoutMs: CONNECT_MS_MAX });
    const looks = [
      examineLog(log, settings, nowMs, readEnds),
      examineRows(postgres, nowMs, readEnds),
      examineChain(settings, nowMs),
      examineKeys(log, settings),
      examineCertificates(settings, nowMs),
      examineProcesses(settings),
    ];
    return tell((await Promise.all(looks)).flat(), isJson);
  } finally {
    await Promise.all([log.close(), postgres.close()]);
  }
}

function tell(findings: readonly Finding[], isJson: boolean): Outcome {
  const isWell = findings.every(({ verdict }) => verdict !== 'wrong');
  const lines = isJson
    ? [JSON.stringify({ isWell, findings }, null, 2)]
    : findings.map(({ verdict, what, runbook }) => `${verdict.padEnd(6)}  ${what}${runbook ? `: see ${runbook}` : ''}`);
  return { lines, exitCode: isWell ? 0 : 1 };
}
