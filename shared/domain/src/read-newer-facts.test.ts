import { expect, test } from '@jest/globals';
import { decodeMakerEvent, type MakerEvent } from '@makerbook/contracts-events';
import { type GoldenMessage, readGoldenMessages, withUnknownFields } from '@makerbook/contracts-events/testing';
import fc from 'fast-check';
import { unknownMaker } from './maker.js';
import { foldFacts, startFold } from './testing/fold-facts.js';

const facts = readGoldenMessages()
  .map(([, message]) => message)
  .filter(({ topic }) => topic === 'maker-events')
  .map((message) => ({ fact: read(message, (data) => data), newer: read(message, withUnknownFields) }));

function read({ headers, value }: GoldenMessage, change: (data: unknown) => unknown): MakerEvent {
  const fact = decodeMakerEvent({ headers, value: Buffer.from(JSON.stringify(change(JSON.parse(value ?? '')))) });
  if ('unreadable' in fact) throw new Error(fact.unreadable);
  return fact;
}

function fold(history: readonly MakerEvent[]) {
  const folded = startFold(unknownMaker(`0x${'a1'.repeat(20)}`));
  const transitions = foldFacts(folded, history);
  const { admission, nonce, funding, orders } = folded.draft;
  return { transitions, clock: folded.clock, admission, nonce, funding, orders };
}

test('a history whose facts have fields of a newer version folds as without them', () => {
  const kinds = new Set<string>();
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...facts), { minLength: 1, maxLength: 20 }), (history) => {
      const folded = fold(history.map(({ fact }) => fact));
      expect(fold(history.map(({ newer }) => newer))).toEqual(folded);
      for (const { kind } of folded.transitions) kinds.add(kind);
    }),
    { numRuns: 500 },
  );
  expect([...kinds]).toEqual(expect.arrayContaining(['OrderOpened', 'OrderRemoved', 'MakerChanged']));
});
