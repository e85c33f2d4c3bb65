import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { logAnswers } from './log-answers.js';

const lines: { level: string; fields: Record<string, unknown> }[] = [];
const write = (level: string) => (fields: object) => void lines.push({ level, fields: { ...fields } });
const logger = { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') };
const answered = { requestId: 'r', endpoint: 'POST /things', status: 403 };
const refused = { ...answered, code: 'invalid_signature', index: 3, detail: 'no' };

beforeEach(() => {
  lines.length = 0;
  jest.useFakeTimers();
});
afterEach(() => void jest.useRealTimers());

describe('the log of answers', () => {
  test('has each refusal, and a 5xx as a warning', () => {
    const log = logAnswers(logger);
    log(true, () => ({ ...refused, maker: '0xa' }));
    log(true, () => ({ ...refused, status: 503, code: 'unavailable', detail: 'x'.repeat(10_000) }));
    expect(lines[0]).toEqual({ level: 'info', fields: { ...refused, maker: '0xa' } });
    expect(lines[1]).toMatchObject({ level: 'warn', fields: { code: 'unavailable', detail: 'x'.repeat(300) } });
  });

  test('has at most twenty refusals a second, and counts the others', () => {
    const log = logAnswers(logger);
    for (let n = 0; n < 1_000; n += 1) log(true, () => refused);
    expect(lines).toHaveLength(20);
    jest.advanceTimersByTime(1_000);
    expect(lines[20]).toEqual({ level: 'warn', fields: { refusals: 980 } });
    log(true, () => refused);
    jest.advanceTimersByTime(1_000);
    expect(lines).toHaveLength(22);
  });

  test('has one success in a hundred', () => {
    const log = logAnswers(logger);
    for (let n = 0; n < 250; n += 1) log(false, () => ({ requestId: String(n), endpoint: 'GET /things', status: 200 }));
    expect(lines.map(({ fields }) => fields['requestId'])).toEqual(['0', '100', '200']);
  });
});
