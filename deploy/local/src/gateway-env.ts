import {
  apiSettings,
  bodySettings,
  entries,
  integer,
  opsSettings,
  port,
  readSettings,
  type SettingsOf,
  text,
} from '@makerbook/settings';

export const gatewaySettings = {
  HOST: opsSettings.HOST,
  HOST_NAMES: opsSettings.HOST_NAMES,
  PORT: port('Port of the base URL', 8080),
  ...bodySettings,
  HEADER_BYTES_MAX: apiSettings.HEADER_BYTES_MAX,
  CONNECTIONS_PER_ADDRESS_MAX: apiSettings.CONNECTIONS_PER_ADDRESS_MAX,
  GATEWAY_REQUESTS_MAX: integer(
    'Requests of one client address in a window; each 8 KiB of a request count as one more',
    30_000,
    { min: 1 },
  ),
  CLIENT_WINDOW_SECONDS: apiSettings.CLIENT_WINDOW_SECONDS,
  CORS_ORIGINS: apiSettings.CORS_ORIGINS,
  INGRESS_URL: text('Where ingress answers, `http://host:port`'),
  QUERY_URL: text('Where query answers, `http://host:port`'),
  FEED_URL: text('Where feed answers, `http://host:port`'),
  CONSOLE_PORT: port('Port of the console; none if CONSOLE_URL is empty', 0),
  CONSOLE_URL: text('Where feed serves the console, `http://host:port`', ''),
  MAKERBOOK_DATA: text('Data folder of a local stack: the page /docs can prepare makers on its chain', ''),
  OPS_URLS: entries(
    'Services that must all be ready for `/readyz`: `name=http://host:port`, comma-separated',
    /^([^=]+)=(.+)$/,
  ),
};

export type GatewaySettings = SettingsOf<typeof gatewaySettings>;

/** @throws SettingsError naming what is missing or wrong */
export function readGatewayEnvironment(environment: Record<string, string | undefined>): GatewaySettings {
  return readSettings(gatewaySettings, environment);
}
