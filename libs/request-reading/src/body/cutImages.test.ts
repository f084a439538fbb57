import { expect, it } from '@jest/globals';
import { ApiError } from '@turnpike/public-api/apiError';
import { lookAtBase64 } from '../images/decodeInlineImage.ts';
import { toJsonBody } from './readBody.ts';

const LIMITS = { maxTextBytes: 1_000_000 };
const anImage = (bytes: number, type = 'image/png') =>
  `data:${type};base64,${Buffer.alloc(bytes, 'pixels').toString('base64')}`;

/** Returns the parsed body, or the fault of its refusal. */
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

it.each([
  'DATA:image/PNG',
  'data:',
  'data:image/png;charset=utf-8;name=a',
  'data:image/png;name=ä',
  'data:image/png;name="a"',
  'data:a\\b',
  `data:${'a'.repeat(280)}`,
])('reads an image whose data URL begins with %s as it stands', (head) => {
  const value = { image: `${head};base64,${Buffer.alloc(30_000, 'pixels').toString('base64')}`, ä: 1 };
  expect(read(JSON.stringify(value))).toEqual(value);
});

it.each(['\n', '\t', '\0'])('refuses a control character before the comma of an image: %j', (odd) => {
  expect(read(`{"image":"${anImage(30_000, `image/png;a=${odd}`)}"}`)).toEqual({ kind: 'body_not_json' });
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

/** Last letters of a step, within a text that begins with its media type. */
const STEP_ENDS = [16_384, 32_768].map((letters) => 'data:image/png;base64,'.length + letters);
it.each(STEP_ENDS.flatMap((end) => [-5, -4, -3, -2, -1, 0, 1].map((by) => end + by)))(
  'reads or refuses an image with something odd at letter %d as a parser does',
  (at) => {
    const image = anImage(30_000);
    for (const odd of ['=', '==', '-', '_', ' ', '\\/', '%']) {
      const value = { before: 'a', image: `${image.slice(0, at)}${odd}${image.slice(at + odd.length)}`, after: 'ä' };
      expect(read(JSON.stringify(value))).toEqual(value);
      const cut = { image: `${image.slice(0, at)}${odd}` };
      expect(read(JSON.stringify(cut))).toEqual(cut);
    }
    const escaped = `{"image":"${image.slice(0, at)}\\n${image.slice(at)}"}`;
    expect(read(escaped)).toEqual(JSON.parse(escaped));
    const broken = Buffer.from(`{"image":"${image}"}`);
    broken[at] = 0xff;
    expect(read(broken)).toEqual({ kind: 'body_not_utf8' });
    broken[at] = 0x0a;
    expect(read(broken)).toEqual({ kind: 'body_not_json' });
    broken[at] = 0x22;
    expect(read(broken)).toEqual({ kind: 'body_not_json' });
  },
);

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
  expect(lookAtBase64(text)?.toString('base64')).toBe(text);
});
it.each(['Q', 'QQ', 'QQ=', 'QUJD=', 'QQ== ', '-_-_', 'QU=D', '===='])('takes %j for no base64', (text) => {
  expect(lookAtBase64(text)).toBeUndefined();
});
