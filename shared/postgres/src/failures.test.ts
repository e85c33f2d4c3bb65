import { expect, test } from '@jest/globals';
import pg from 'pg';
import { classify, InvariantBroken, PostgresRefused, PostgresUnavailable } from './failures.js';

test.each([
  ['53100', 'a full disk', PostgresUnavailable],
  ['53300', 'too many connections', PostgresUnavailable],
  ['40001', 'a serialization failure', PostgresUnavailable],
  ['57P01', 'a server that stops', PostgresUnavailable],
  ['28P01', 'a password that is being changed', PostgresUnavailable],
  ['23514', 'a broken check', InvariantBroken],
  ['22003', 'a number out of range', InvariantBroken],
  ['42501', 'a missing right', PostgresRefused],
])('SQLSTATE %s, %s, is %p', (code, message, kind) => {
  const error = Object.assign(new pg.DatabaseError(message, 1, 'error'), { code });
  expect(classify(error)).toBeInstanceOf(kind);
});
