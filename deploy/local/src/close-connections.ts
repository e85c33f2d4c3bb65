/**
 * Loaded before each live test file: no request of a test goes over a connection that was kept. The other side closes
 * those after some idle seconds, and on a busy machine that may be the moment at which one is used again.
 */
const fetchAsItIs = globalThis.fetch;
globalThis.fetch = (input, init) => {
  const headers = new Headers(init?.headers ?? (input instanceof Request ? input.headers : undefined));
  if (!headers.has('connection')) headers.set('connection', 'close');
  return fetchAsItIs(input, { ...init, headers });
};
