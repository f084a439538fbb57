import { expect, it } from '@jest/globals';
import { readClaims } from './readClaims.ts';

const USER = { iss: 'https://id.example', sub: 'ada' };

it('reads the address and the name of a user', () => {
  const claims = { ...USER, email: ' Ada@Example.com ', email_verified: true, name: ' Ada ' };
  expect(readClaims(claims)).toEqual({ ...USER, email: 'ada@example.com', email_verified: true, name: 'Ada' });
});

it.each([
  ['a list', 'ada@example.com, eve@example.com'],
  ['a header', 'ada@example.com\r\nBcc: eve@example.com'],
  ['a letter that is an ASCII one in lower case', '\u212Aen@example.com'],
  ['a quoted part', '"ada eve"@example.com'],
])('takes no address that is %s', (_, email) => {
  expect(readClaims({ ...USER, email, email_verified: true }).email).toBeUndefined();
});

it.each([
  ['two lines', 'Ada\n\nhttps://eve.example'],
  ['a NUL', 'Ada\0'],
  ['half a character', 'Ada\ud83d'],
  ['a turned direction', 'Ada\u202e'],
  ['nothing to see', '\u200b'],
  ['201 characters', 'a'.repeat(201)],
])('takes no name with %s', (_, name) => {
  expect(readClaims({ ...USER, name }).name).toBeUndefined();
});

it.each([undefined, {}, { iss: USER.iss }, { ...USER, sub: 7 }])('takes %j for no user', (claims) => {
  expect(() => readClaims(claims)).toThrow();
});
