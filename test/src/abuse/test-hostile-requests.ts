import { beforeAll, describe, expect, test } from '@jest/globals';
import { codeOf, type OpenBed } from '../conformance/open-bed.js';
import { ORDERS_PATH as PATH } from '../kit/make-requests.js';
import { type Exchange, openRaw, type RawConnection } from '../kit/raw-http.js';
import { type HostileRow, hostileRows } from './hostile-requests.js';

const ANSWER_MS_MAX = 120_000;
/** More than the answers of any row. */
const ANSWERS_MAX = 100;

/** Tests hostile requests to the gateway and to the services themselves. Others must be served meanwhile. */
export function testHostileRequests(bedOf: () => OpenBed): void {
  const slow: { readonly name: string; readonly outcome: Promise<Exchange> }[] = [];
  let clients = 0;

  const gatewayPort = () => Number(new URL(bedOf().stack.addresses.baseUrl).port);

  async function outcomeOf({ bytes, answered }: HostileRow, port: number): Promise<readonly string[]> {
    clients += 1;
    const client = `198.18.${clients >> 8}.${clients & 255}`;
    const connection = await openRaw('127.0.0.1', port);
    const fields = `Host: localhost\r\nX-Forwarded-For: ${client}, ${client}\r\n`;
    connection.socket.write(Buffer.from(bytes(fields), 'latin1'));
    try {
      const isClosed = answered.at(-1) === 'closed';
      const wanted = isClosed ? ANSWERS_MAX : answered.length;
      return describeExchange(await connection.read({ answers: wanted, timeoutMs: ANSWER_MS_MAX }));
    } finally {
      connection.close();
    }
  }

  beforeAll(async () => {
    // Only a timeout ends these connections. The other tests run meanwhile.
    for (const [name, text] of Object.entries(slowRequests))
      slow.push({ name, outcome: sendSlowly(await openRaw('127.0.0.1', gatewayPort()), text) });
    for (const { outcome } of slow) outcome.catch(() => undefined);
  });

  describe.each(['gateway', 'service'] as const)('to the %s', (where) => {
    test.each(hostileRows.map((row) => [row.sends, row] as const))('%s', async (_sends, row) => {
      const port = where === 'gateway' ? gatewayPort() : bedOf().stack.portOf(row.service);
      expect(await outcomeOf(row, port)).toEqual(row.answered);
    });
  });

  test('no prototype is polluted, and no request but its own was understood', async () => {
    const { make, makers, send } = bedOf();
    const item = make.order(makers.maker);
    expect(codeOf(await send(make.post([item])))).toBe('200');
    expect(codeOf(await send(make.cancel([item], makers.maker)))).toBe('200');
  });

  test('slow heads and bodies are let go after 10 s', async () => {
    for (const { name, outcome } of slow) {
      const exchange = await outcome;
      expect([name, ...describeExchange(exchange)]).toEqual([name, '408 request_timeout', 'closed']);
      expect(exchange.answers[0]?.body.toString()).toContain('did not arrive in time');
    }
  });
}

const slowRequests = {
  head: `POST ${PATH} HTTP/1.1\r\nHost: localhost\r\nX-Slow: `,
  'Content-Length': `POST ${PATH} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n[`,
  chunks: `POST ${PATH} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n3e8\r\n[`,
};

/** Sends a text, and then a byte a second. */
async function sendSlowly(connection: RawConnection, text: string): Promise<Exchange> {
  connection.socket.write(text);
  const timer = setInterval(() => connection.socket.writable && connection.socket.write(' '), 1000);
  try {
    return await connection.read({ answers: ANSWERS_MAX, timeoutMs: ANSWER_MS_MAX });
  } finally {
    clearInterval(timer);
    connection.close();
  }
}

/** Status and code of each answer, and `closed` if the connection was closed. */
function describeExchange({ answers, rest, end }: Exchange): readonly string[] {
  const said = answers.map((answer) =>
    answer.status < 400 ? String(answer.status) : `${answer.status} ${codeOf(answer)}`,
  );
  if (rest.length > 0) return [...said, `and more: ${rest.toString('latin1', 0, 100)}`];
  return end === 'answered' ? said : [...said, end];
}
