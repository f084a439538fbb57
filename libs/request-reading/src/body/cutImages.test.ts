import { expect, it } from '@jest/globals';
import { ApiError } from '@turnpike/public-api/apiError';
import { decodeBase64 } from '../images/decodeInlineImage.ts';
import { toJsonBody } from './readBody.ts';

const LIMITS = { maxTextBytes: 1_000_000 };
const anImage = (bytes: number, type = 'image/png') =>
  `data:${type};base64,${Buffer.alloc(bytes, 'pixels').toString('base64')}`;

/** What a body is read as, or the fault that it is refused with. */
function read(text: string | Buffer): unknown {
  try {
    return toJsonBody(Buffer.from(text), LIMITS).value;
  } catch (error) {
    return error instanceof ApiError ? error.fault : error;
  }
}

it.each([20_000, 20_001, 20_002, 12_280, 12_290, 3])('reads an image of %d bytes as it stands', (bytes) => {
  const value = { a: [{ 'b"': anImage(bytes) }, 1, anImage(bytes, 'image/svg+xml')], model: 'm', ä: anImage(bytes) };
  expect(read(JSON.stringify(value))).toEqual(value);
});

it('reads texts beside an image that only JSON can write', () => {
  const text = `{"__proto__":{"x":"${anImage(20_000)}"},"t":"\\u00e4\\n"}`;
  expect(read(text)).toEqual(JSON.parse(text));
});

it.each<[string, string]>([
  ['a line end', '\n'],
  ['an escaped line end', '\\n'],
  ['an escaped slash', '\\/'],
  ['a letter of no base64', 'ä'],
  ['padding within', '=='],
  ['the letters of URLs', '-_-_'],
])('reads or refuses an image with %s in it as a parser does', (_name, odd) => {
  const image = anImage(30_000);
  const text = `{"image":"${image.slice(0, 20_000)}${odd}${image.slice(20_000)}"}`;
  const parsed = (() => {
    try {
      return JSON.parse(text) as unknown;
    } catch {
      return { kind: 'body_not_json' };
    }
  })();
  expect(read(text)).toEqual(parsed);
});

it('refuses what is no UTF-8 within an image, and what is no JSON beside one', () => {
  const image = anImage(30_000);
  const odd = Buffer.concat([Buffer.from(`{"image":"${image}`), Buffer.from([0xff]), Buffer.from('"}')]);
  expect(read(odd)).toEqual({ kind: 'body_not_utf8' });
  expect(read(`{"image":"${image}",}`)).toEqual({ kind: 'body_not_json' });
  expect(read(`{"image":"${image}""${image}"}`)).toEqual({ kind: 'body_not_json' });
  expect(read(`"${image}"`)).toEqual({ kind: 'body_not_an_object' });
});

it('refuses an image that stands at one key twice, by the name of the key', () => {
  expect(read(`{"a":{"i":"${anImage(20_000)}","i":"${anImage(20_000)}"}}`)).toMatchObject({
    kind: 'body_key_repeated',
    param: 'a.i',
  });
});

it.each(['', 'QQ==', 'QUI=', 'QUJD'])('decodes %j whole', (text) => {
  expect(decodeBase64(text)?.toString('base64')).toBe(text);
});
it.each(['Q', 'QQ', 'QQ=', 'QUJD=', 'QQ== ', '-_-_', 'QU=D', '===='])('takes %j for no base64', (text) => {
  expect(decodeBase64(text)).toBeUndefined();
});
