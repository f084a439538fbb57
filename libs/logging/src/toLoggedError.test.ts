import { expect, it } from '@jest/globals';
import { toLoggedError } from './toLoggedError.ts';

it.each([
  ['connect ECONNREFUSED 127.0.0.1:6379', 'connect ECONNREFUSED <address>'],
  ['connect ETIMEDOUT ::1:5432', 'connect ETIMEDOUT <address>'],
  ['no answer from [fd00::7]:8000.', 'no answer from <address>'],
  ['getaddrinfo ENOTFOUND redis.internal', 'getaddrinfo ENOTFOUND <address>'],
  ["Can't reach database server at db-1:5432", "Can't reach database server at <address>"],
])('shows no internal address of %s', (message, shown) => {
  expect(toLoggedError(new Error(message))).toMatchObject({ message: shown });
  expect(toLoggedError(new Error('outer', { cause: new Error(message) }))).toMatchObject({ cause: { message: shown } });
  expect(toLoggedError(message)).toEqual({ message: shown });
});

it.each([
  'usage-ledger answered 409 to a report',
  'line 12:30 of us.yaml is no price: "2.5e-9"',
  'at 12:33:44 version 18.4.0 was faded',
])('leaves %s as it is', (message) => {
  expect(toLoggedError(new Error(message))).toMatchObject({ message });
});
