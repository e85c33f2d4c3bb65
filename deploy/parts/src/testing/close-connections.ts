/**
 * Loaded before each live test file. No request of a test reuses a connection. The server closes idle connections after
 * some seconds, and on a busy machine a test might reuse one at that moment.
 */
const fetchAsItIs = globalThis.fetch;
globalThis.fetch = (input, init) => {
  const headers = new Headers(init?.headers ?? (input instanceof Request ? input.headers : undefined));
  if (!headers.has('connection')) headers.set('connection', 'close');
  return fetchAsItIs(input, { ...init, headers });
};
