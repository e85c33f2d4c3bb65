import { findDrift } from './find-drift.js';

/**
 * Checks each `fetch` of this process to the service from now on, request and answer, against openapi.json.
 * @param isService whether a URL belongs to the service's API
 * @returns a function that ends the check. It throws if any exchange differs from the document
 */
export function checkTraffic(isService: (url: URL) => boolean): () => void {
  const fetchAsItIs = globalThis.fetch;
  const drifted = new Set<string>();
  globalThis.fetch = async (input, init) => {
    const answer = await fetchAsItIs(input, init);
    const url = new URL(input instanceof Request ? input.url : input);
    if (!isService(url)) return answer;
    const { method = 'GET', headers, body } = init ?? {};
    const isStream = answer.headers.get('content-type')?.startsWith('text/event-stream') === true;
    const exchange = {
      method,
      url,
      requestHeaders: new Headers(headers),
      requestBody: typeof body === 'string' ? body : undefined,
      status: answer.status,
      answerHeaders: answer.headers,
      // A stream has no end to wait for.
      answerBody: isStream ? '' : await answer.clone().text(),
    };
    for (const drift of findDrift(exchange)) drifted.add(`${method} ${url.pathname}: ${drift}`);
    return answer;
  };
  return () => {
    globalThis.fetch = fetchAsItIs;
    if (drifted.size > 0) throw new Error(`the traffic differs from openapi.json:\n${[...drifted].join('\n')}`);
  };
}
