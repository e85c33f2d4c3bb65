/**
 * What a URL holds beside its host may be a key. A server likes to quote it ("Cannot POST /v2/…"), and what a server
 * says gets into log lines and `/readyz`: this makes such texts harmless.
 */
export function hideSecretsOf(url: URL): (text: string) => string {
  const parts = [url.username, url.password, url.pathname, ...url.pathname.split('/'), ...url.searchParams.values()];
  const secrets = [url.search, ...parts, ...parts.map(decode)].filter(({ length }) => length >= SECRET_LENGTH_MIN);
  // The longest first: one may hold another.
  secrets.sort((a, b) => b.length - a.length);
  return (text) => secrets.reduce((hidden, secret) => hidden.replaceAll(secret, '…'), text);
}

/** Shorter ones are words such as `rpc` or `v1`. */
const SECRET_LENGTH_MIN = 4;

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
