/** Shorter ones are words such as `rpc` or `v1`. */
const SECRET_LENGTH_MIN = 4;
/**
 * Returns a function that hides a URL's secrets in a text. All but the host may hold a key. Servers quote it in their
 * messages ("Cannot POST /v2/…"), which get into log lines and `/readyz`.
 */
export function hideSecretsOf(url: URL): (text: string) => string {
  const parts = [url.username, url.password, url.pathname, ...url.pathname.split('/'), ...url.searchParams.values()];
  const secrets = [url.search, ...parts, ...parts.map(decode)].filter(({ length }) => length >= SECRET_LENGTH_MIN);
  // Replace the longest first, because one may contain another.
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
