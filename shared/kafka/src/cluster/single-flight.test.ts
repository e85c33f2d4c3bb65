import { describe, expect, test } from '@jest/globals';
import { singleFlight } from './single-flight.js';

const settle = () => new Promise(setImmediate);

describe('sharing a question', () => {
  test('a hundred askers at once cost two questions, and none gets an answer asked for before it came', async () => {
    const { ask, answerNext, asked } = questions();
    const share = singleFlight(ask);
    const first = share('topic');
    await settle();
    const rest = Array.from({ length: 100 }, () => share('topic'));
    answerNext();
    expect(await first).toBe(1);
    await settle();
    const late = share('topic');
    answerNext();
    expect(new Set(await Promise.all(rest))).toEqual(new Set([2]));
    await settle();
    answerNext();
    expect(await late).toBe(3);
    expect(asked()).toBe(3);
  });

  test('after an idle time the next asker asks at once', async () => {
    const { ask, answerNext } = questions();
    const share = singleFlight(ask);
    for (const expected of [1, 2, 3]) {
      const answer = share('topic');
      await settle();
      answerNext();
      expect(await answer).toBe(expected);
    }
  });

  test('a failure reaches those who shared the question, and the next question is asked nevertheless', async () => {
    let tries = 0;
    const share = singleFlight(async () => {
      tries += 1;
      if (tries === 1) {
        throw new Error('away');
      }
      return tries;
    });
    const failing = share('topic').catch((error: unknown) => error);
    await Promise.resolve();
    const [first, second] = await Promise.all([failing, share('topic')]);
    expect(first).toMatchObject({ message: 'away' });
    expect(second).toBe(2);
  });

  test('subjects do not wait for each other', async () => {
    const share = singleFlight((subject) =>
      subject === 'slow' ? new Promise<string>(() => undefined) : Promise.resolve(subject),
    );
    void share('slow');
    expect(await share('quick')).toBe('quick');
  });
});

function questions() {
  let asked = 0;
  const waiting: (() => void)[] = [];
  return {
    asked: () => asked,
    answerNext: () => waiting.shift()?.(),
    ask: () => {
      asked += 1;
      const number = asked;
      return new Promise<number>((resolve) => {
        waiting.push(() => resolve(number));
      });
    },
  };
}
