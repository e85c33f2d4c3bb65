import { readOptions, refuseWords } from '@makerbook/settings';
import { readWhole } from '../kit/read-values.js';
import { loseBroker } from './lose-broker.js';
import { loseKafka } from './lose-kafka.js';
import { openParts } from './open-parts.js';
import { renewCertificates } from './renew-certificates.js';
import { restorePostgres } from './restore-postgres.js';
import { rollBack, upgrade } from './roll-out.js';

const USAGE = `npm run drill -- NAME [--seconds N] [--against FOLDER] [--seed N] [--without-postgres]
  a stack of its own with makers at work, on which something is done as deploy/runbooks/operations.md says. Prints for how long what
  was not answered, and what was lost; exits with 1 where an acknowledged order is missing or comes twice that must not, or
  something was away for longer than promised. NAME:
    lose-kafka          Kafka is lost with its disks; the log is restored from its archive, and completed from the rows
    restore-postgres    Postgres is lost with its data; a copy that is older than the orders comes in its place
    lose-broker         one broker of three is killed and its disk wiped; an empty one takes its place
    renew-certificates  the authority and all certificates of Kafka, Postgres and Redis are renewed; brokers roll, services go on
    upgrade, rollback   two processes of each service are replaced, one after the other, by those of another build
  --seconds of load before it: 5 if not said
  --seed of the chances of lose-kafka: 1 if not said. --without-postgres: Postgres is lost too
  --against: another checkout, built (\`git worktree add\`, \`npm ci\`, \`npx tsc -b\`), whose build is upgraded to this one, or rolled
  back to. Without it this build is replaced by itself`;
const LINES_MAX = 20;
const drills = {
  'lose-kafka': loseKafka,
  'restore-postgres': restorePostgres,
  'lose-broker': loseBroker,
  'renew-certificates': renewCertificates,
  upgrade,
  rollback: rollBack,
};
const options = {
  seconds: { type: 'string', default: '5' },
  against: { type: 'string' },
  seed: { type: 'string', default: '1' },
  'without-postgres': { type: 'boolean', default: false },
} as const;
const { name, values } = readOptions(USAGE, options, Object.keys(drills));
const drill = drills[(name ?? '') as keyof typeof drills] ?? refuseWords('a drill is missing');
const loadMs = readWhole('--seconds', values.seconds) * 1000;
const seed = readWhole('--seed', values.seed);
const keeps = !values['without-postgres'];
const parts = await openParts();
const stopEarly = () => void parts.stop().finally(() => process.exit(1));
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, stopEarly);
let wrong: string[] = ['no drill'];
try {
  wrong = await drill(parts, { loadMs, against: values.against, seed, keeps });
} finally {
  await parts.stop();
}
for (const line of wrong.slice(0, LINES_MAX)) console.log(`wrong: ${line}`);
if (wrong.length > LINES_MAX) console.log(`wrong: ${wrong.length - LINES_MAX} more`);
process.exit(wrong.length === 0 ? 0 : 1);
