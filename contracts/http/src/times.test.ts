import { expect, test } from '@jest/globals';
import { time, timeOrOff, timeText } from './times.js';

const values: readonly unknown[] = [{}, [], [['1']], null, { toString: 1 }, { valueOf: 1, toString: 1 }, true, '', 'x'];

test.each(values.map((value) => [value]))('a value that is not a time is refused: %j', (value) => {
  for (const schema of [time('seconds', ''), timeOrOff('milliseconds', ''), timeText('seconds', '')])
    expect(schema.safeParse(value)).toMatchObject({
      success: false,
      error: { issues: [{ message: expect.any(String) }] },
    });
});
