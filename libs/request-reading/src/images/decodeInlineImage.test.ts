import { expect, it } from '@jest/globals';
import { decodeInlineImage, toTypedDataUrl } from './decodeInlineImage.ts';

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

const GIF = Buffer.from('GIF89a\x01\0\x01\0', 'latin1').toString('base64');
it.each<[string, string]>([
  ['data:image/png;base64,iVBORw0KGgo=', 'data:image/png;base64,iVBORw0KGgo='],
  ['DATA:image/PNG;base64,iVBORw0KGgo=', 'data:image/png;base64,iVBORw0KGgo='],
  ['data:;base64,/9j/4AAQ', 'data:image/jpeg;base64,/9j/4AAQ'],
  ['data:image/pjpeg;charset=utf-8;name="a b";base64,/9j/4AAQ', 'data:image/jpeg;base64,/9j/4AAQ'],
  [`data:image/*;base64,${GIF}`, `data:image/gif;base64,${GIF}`],
  ['data:image/png;base64,UklGRgAAAABXRUJQVlA4', 'data:image/webp;base64,UklGRgAAAABXRUJQVlA4'],
])('gives %s the type of its bytes: %s', (url, typed) => {
  expect(toTypedDataUrl(url)).toBe(typed);
});

it.each([
  'data:image/png;base64,AAAA',
  'data:image/png;BASE64,iVBORw0KGgo=',
  'data:image/png;base64;a=b,iVBORw0KGgo=',
  'data:image/png,iVBORw0KGgo=',
  'data:base64,iVBORw0KGgo=',
  'data:a\n;base64,iVBORw0KGgo=',
  ' data:image/png;base64,/9j/4AAQ',
  'https://example.org/a;base64,iVBORw0KGgo=',
])('finds no image in %s', (url) => {
  expect(toTypedDataUrl(url)).toBeUndefined();
});
