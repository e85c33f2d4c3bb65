import {
  addresses,
  credential,
  entries,
  hidden,
  integer,
  kafkaSettings,
  list,
  marketSettings,
  opsSettings,
  postgresSettings,
  privateKey,
  type SettingsOf,
  signingSettings,
  telemetrySettings,
  text,
} from '@makerbook/settings';

const archiveSettings = {
  ARCHIVE_KEY: credential(
    '`log archive` signs with this Ed25519 key, in PEM; `log restore` and `log verify` require its signatures, and accept the public key too; empty: no signatures',
    '',
  ),
  ARCHIVE_HEAD: text(
    'File outside the archive that names its newest part, so that nobody can leave parts out at its end; empty: none',
    '',
  ),
};

export const settings = {
  ...kafkaSettings,
  TOPIC_REPLICATION_FACTOR: integer('Replicas of the topics that it creates', 3, { min: 1, max: 16 }),
  VISIBLE_WITHIN_MS: integer('How long a whitelist command waits until the services see its decision', 10_000),
  HOLD_SECONDS: integer(
    'How long makers have to repeat cancellations after `salvage`, once the projector has folded it, before `makers cancel-only off` takes orders again',
    900,
  ),
  RPC_URL: hidden(
    list('Nodes of Kaia: `makers add` warns of accounts that have changed their key there; empty: it does not ask', ''),
  ),
  ...archiveSettings,
  LOG_LEVEL: opsSettings.LOG_LEVEL,
};

/** The settings of `log archive --follow`. */
export const followSettings = {
  ...kafkaSettings,
  ...archiveSettings,
  ...opsSettings,
  ...telemetrySettings,
};

/** The settings of `migrate`, which connects only to Postgres, with the rights to change the schema. */
export const migrateSettings = { ...postgresSettings };

/** The settings of `contracts`, which connects only to a node. */
export const contractSettings = {
  SERVICE_NAME: signingSettings.SERVICE_NAME,
  CHAIN_ID: signingSettings.CHAIN_ID,
  RPC_URL: hidden(list('`contracts`: JSON-RPC of a node; the first of several is asked')),
  DEPLOYER_KEY: privateKey('`contracts`: the key of the account that pays, and owns the Navigator'),
  QUOTE_SIGNERS: addresses('`contracts`: addresses whose quotes the Navigator takes, comma-separated'),
};

/** The settings of `doctor`, which looks at everything. */
export const doctorSettings = {
  ...kafkaSettings,
  ...postgresSettings,
  ...signingSettings,
  ...marketSettings,
  RPC_URL: hidden(list('`doctor`: nodes of Kaia; empty: none is asked', '')),
  PROCESSES: entries(
    '`doctor`: the processes, `name=http://host:port` of each ops port, comma-separated; a name with several addresses stands for a process at each; empty: none is asked',
    /^([\w.-]+)=(http:\/\/.+)$/,
  ),
  TLS_SERVERS: list(
    '`doctor`: other servers whose certificate it reads, `host:port`, comma-separated: the gateway, Redis',
    '',
  ),
  CERTIFICATE_FILES: list('`doctor`: other files with certificates in PEM, comma-separated; one may be missing', ''),
};

export type DoctorSettings = SettingsOf<typeof doctorSettings>;
export type FollowSettings = SettingsOf<typeof followSettings>;
export type OperatorSettings = SettingsOf<typeof settings>;
