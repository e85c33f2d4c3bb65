import { describe, expect, test } from '@jest/globals';
import { FatalError } from '@makerbook/kafka';
import { assertNotBehind } from './compare-feeds.js';
import { messageId, offsetOfMessage } from './name-messages.js';

const says = (nextOffset: bigint, slices: number, offset: bigint | undefined) => () =>
  assertNotBehind(
    7,
    { nextOffset, slices },
    offset === undefined ? undefined : { topic: 'book', offset },
    'mb on pg:5432',
  );

describe('a read model beside the feeds', () => {
  test('is theirs where it has folded the last fact that they speak of, or where they say nothing', () => {
    expect(says(10n, 0, 9n)).not.toThrow();
    expect(says(10n, 0, 3n)).not.toThrow();
    expect(says(0n, 0, undefined)).not.toThrow();
  });

  test('is refused where it has not, with everything that a person has to know', () => {
    expect(says(10n, 0, 10n)).toThrow(FatalError);
    expect(says(0n, 0, 0n)).toThrow(FatalError);
    expect(says(10n, 0, 431n)).toThrow(
      /^the database mb on pg:5432 is older than the feeds.*partition 7 stands at offset 10 .*book already speaks of offset 431.*DATABASE_URL.*services\/projector\/README\.md$/,
    );
  });

  test('is theirs in the middle of a block, whose slices are published one by one', () => {
    expect(says(10n, 1, 10n)).not.toThrow();
    expect(says(10n, 1, 11n)).toThrow(FatalError);
  });
});

describe('the id of a feed message', () => {
  const of = (id: string | undefined) =>
    offsetOfMessage({ partition: 7, headers: id === undefined ? {} : { ce_id: id } });

  test('tells the offset of its fact', () => {
    expect(of(messageId(7, 12345678901234567890n, '0xabc:removed'))).toBe(12345678901234567890n);
    expect(of(messageId(7, 0n, 'position'))).toBe(0n);
  });

  test('of another partition, another writer, or none, tells nothing', () => {
    for (const id of [messageId(8, 1n, 'x'), '7', '7:x:y', ':1:', '7:-1:x', 'abc', '', undefined]) {
      expect(of(id)).toBeUndefined();
    }
  });
});
