import { describe, expect, test } from '@jest/globals';
import { fieldsOf, type OpenApi, requestWith, wrongValuesOf } from './find-times.js';
import type { OpenBed } from './open-bed.js';

/** Tests every published time and duration of every request, in the other unit and out of bounds. */
export function testUnits(bedOf: () => OpenBed): void {
  test('each time and duration is refused in the other unit, and the refusal names the right one', async () => {
    const { send } = bedOf();
    const published = await send({ method: 'GET', target: '/openapi.json' });
    const document = JSON.parse(published.body.toString()) as OpenApi;
    const times = fieldsOf(document).filter(({ schema }) => schema['x-unit'] !== undefined);
    expect(times.length).toBeGreaterThan(12);
    for (const field of times) {
      const unit = field.schema['x-unit'];
      for (const { when, value, looksLike } of wrongValuesOf(field, Date.now())) {
        const { status, body } = await send(requestWith(field, value));
        const problem = JSON.parse(body.toString()) as { code: string; errors?: { pointer: string; detail: string }[] };
        const fault = problem.errors?.find(({ pointer }) => pointer === field.pointer)?.detail ?? body.toString();
        const what = `${field.name}, ${when}`;
        expect([what, status, problem.code, fault]).toEqual([
          what,
          400,
          'invalid_request',
          expect.stringMatching(
            new RegExp(`\\b${unit}\\b${looksLike === undefined ? '' : `.*looks like ${looksLike}`}`),
          ),
        ]);
      }
    }
  });

  describe('words of a validator', () => {
    test('are in no refusal of any field of any request', async () => {
      const { send } = bedOf();
      const published = await send({ method: 'GET', target: '/openapi.json' });
      const fields = fieldsOf(JSON.parse(published.body.toString()) as OpenApi);
      for (const field of fields) {
        const values = field.in === 'body' ? [null, '\u2026', {}, [], true, 1.5] : ['', '\u2026', '-1', 'x,y'];
        for (const value of field.in === 'header' ? ['', '-1', 'x'] : values) {
          const { body } = await send(requestWith(field, value));
          expect(`${field.name} ${JSON.stringify(value)}: ${body}`).not.toMatch(
            /invalid (input|option|string)|expected|received|too (big|small)|unrecognized|undefined|NaN/i,
          );
        }
      }
    });
  });
}
