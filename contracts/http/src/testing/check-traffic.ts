import { findDrift } from './find-drift.js';

/**
 * From now on each request of this process by `fetch` to the service, and its answer, are held against openapi.json.
 * @param isService whether a URL is one of the service's API
 * @returns ends that. Throws where any exchange was not as the document describes it
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
    if (drifted.size > 0) throw new Error(`not as openapi.json has it:\n${[...drifted].join('\n')}`);
  };
}
