import { expect, it } from '@jest/globals';
import { decodeInlineImage } from './decodeInlineImage.ts';

const decode = (data: string) => decodeInlineImage(`data:image/png;base64,${data}`).toString();

it.each<[string, string]>([
  ['QUJD', 'ABC'],
  ['QUI=', 'AB'],
  ['QQ==', 'A'],
  ['+/+/', Buffer.from('+/+/', 'base64').toString()],
])('decodes %s', (data, text) => {
  expect(decode(data)).toBe(text);
});

// Node's decoder takes all of these, and skips what it does not know.
it.each([
  ...['QUJ', 'QQ', 'Q===', 'QU=D', '=QUJ', 'QUI==', 'QUJD=', '===='],
  ...['QU D', 'QUJD\n', ' QUJ', 'QU%D', 'QUJ%', '%%%%', 'QUÜD', 'QUJD-_-_', '-_-_', 'QUJDQU==QUJD', 'QUJ\0'],
])('refuses %j: all of it has to be base64, as engines read it', (data) => {
  expect(() => decode(data)).toThrow('not_an_image');
});
