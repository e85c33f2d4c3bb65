import { readFileSync } from 'node:fs';
import type { kafkaSettings } from './deployment.js';
import { SettingsError, type SettingsOf } from './settings.js';

/** How Kafka is reached: brokers, and where they are set, certificates (PEM texts) and credentials. */
export interface KafkaConnection {
  readonly brokers: readonly string[];
  readonly tls?: { readonly ca?: string; readonly cert?: string; readonly key?: string };
  readonly sasl?:
    | {
        readonly mechanism: 'PLAIN' | 'SCRAM-SHA-256' | 'SCRAM-SHA-512';
        readonly username: string;
        /** Reads the file, so that a renewed secret is taken at the next connection. */
        readonly password: () => string;
      }
    | { readonly mechanism: 'OAUTHBEARER'; readonly token: () => string };
}

type KafkaSettings = SettingsOf<typeof kafkaSettings>;

/** @throws SettingsError naming what does not fit together, or a file that cannot be read */
export function kafkaConnection(settings: KafkaSettings): KafkaConnection {
  const tls = readTls(settings);
  const sasl = readSasl(settings);
  return { brokers: settings.KAFKA_BROKERS, ...(tls && { tls }), ...(sasl && { sasl }) };
}

function readTls(settings: KafkaSettings): KafkaConnection['tls'] {
  const { KAFKA_TLS_CA_FILE: ca, KAFKA_TLS_CERT_FILE: cert, KAFKA_TLS_KEY_FILE: key } = settings;
  if (settings.KAFKA_TLS === 'off') {
    if (ca !== '' || cert !== '' || key !== '') {
      throw new SettingsError('KAFKA_TLS_CA_FILE, KAFKA_TLS_CERT_FILE and KAFKA_TLS_KEY_FILE need KAFKA_TLS=on');
    }
    return undefined;
  }
  if ((cert === '') !== (key === '')) {
    throw new SettingsError('KAFKA_TLS_CERT_FILE and KAFKA_TLS_KEY_FILE are given together or not at all');
  }
  return {
    ...(ca !== '' && { ca: readText('KAFKA_TLS_CA_FILE', ca) }),
    ...(cert !== '' && { cert: readText('KAFKA_TLS_CERT_FILE', cert), key: readText('KAFKA_TLS_KEY_FILE', key) }),
  };
}

function readSasl(settings: KafkaSettings): KafkaConnection['sasl'] {
  const { KAFKA_SASL_MECHANISM: mechanism, KAFKA_SASL_USERNAME: username } = settings;
  const { KAFKA_SASL_PASSWORD_FILE: passwordFile, KAFKA_SASL_TOKEN_FILE: tokenFile } = settings;
  switch (mechanism) {
    case 'none':
      return undefined;
    case 'OAUTHBEARER': {
      const token = () => readText('KAFKA_SASL_TOKEN_FILE', tokenFile);
      token();
      return { mechanism, token };
    }
    default: {
      if (username === '') {
        throw new SettingsError(`KAFKA_SASL_MECHANISM=${mechanism} needs KAFKA_SASL_USERNAME`);
      }
      const password = () => readText('KAFKA_SASL_PASSWORD_FILE', passwordFile);
      password();
      return { mechanism, username, password };
    }
  }
}

function readText(setting: string, path: string): string {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch (error) {
    throw new SettingsError(`${setting}=${path} cannot be read: ${(error as Error).message}`);
  }
}
