import { describe, expect, test } from '@jest/globals';
import { createLogger } from './logger.js';
import { inSpan, isTraceparent, nextTraceparent } from './trace.js';

describe('the logger', () => {
  test('writes one JSON line per call, with level, time, service, fields and message', () => {
    const lines: string[] = [];
    const logger = createLogger('ingress', 'info', { write: (line) => lines.push(line) });
    logger.debug({ a: 1 }, 'too quiet');
    logger.warn({ maker: '0x1', error: new Error('gone') }, 'the log is away');
    expect(lines).toHaveLength(1);
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({
      level: 'warn',
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
      service: 'ingress',
      maker: '0x1',
      error: { type: 'Error', message: 'gone' },
      msg: 'the log is away',
    });
  });
});

describe('the trace', () => {
  const parent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';

  test('a continued traceparent keeps the trace and changes the span', () => {
    const next = nextTraceparent(parent);
    expect(next).toMatch(/^00-0af7651916cd43dd8448eb211c80319c-[0-9a-f]{16}-01$/);
    expect(next).not.toBe(parent);
  });

  test.each([undefined, '', 'x', `00-${'0'.repeat(32)}-${'0'.repeat(16)}-00`, parent.toUpperCase()])(
    '%s begins a new trace',
    (value) => {
      expect(isTraceparent(value)).toBe(false);
      expect(isTraceparent(nextTraceparent(value))).toBe(true);
    },
  );

  test('work in a span is handed a traceparent of the same trace, and its failure comes through', async () => {
    expect(await inSpan('work', { parent }, async (traceparent) => traceparent.slice(3, 35))).toBe(parent.slice(3, 35));
    await expect(inSpan('work', {}, () => Promise.reject(new Error('no')))).rejects.toThrow('no');
  });
});
