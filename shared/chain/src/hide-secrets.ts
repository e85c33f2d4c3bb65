/** Shorter ones are words such as `rpc` or `v1`. */
const SECRET_LENGTH_MIN = 4;
/**
 * The parts of a URL beside its host may hold a key. Servers quote them in their messages ("Cannot POST /v2/…"), and
 * those get into log lines and `/readyz`: this removes them from such texts.
 */
export function hideSecretsOf(url: URL): (text: string) => string {
  const parts = [url.username, url.password, url.pathname, ...url.pathname.split('/'), ...url.searchParams.values()];
  const secrets = [url.search, ...parts, ...parts.map(decode)].filter(({ length }) => length >= SECRET_LENGTH_MIN);
  // The longest first: one may hold another.
  secrets.sort((a, b) => b.length - a.length);
  return (text) => secrets.reduce((hidden, secret) => hidden.replaceAll(secret, '…'), text);
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
