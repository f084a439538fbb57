import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { replaceImageUrls } from './replaceImageUrls.ts';

// The same cases every time: no run fails by chance.
fc.configureGlobal({ seed: 20_261_121 });

const A = 'https://example.org/a.png';
const B = 'http://example.org/"b"\\ü.png?x=1&y=2';
const fetched = new Map([
  [A, Buffer.from('data:image/png;base64,AAAA')],
  [B, Buffer.from('data:image/gif;base64,BBBB')],
]);
const replace = (text: string, expected = 1) =>
  Buffer.concat(replaceImageUrls(Buffer.from(text), { fetched, expected })).toString();
const member = (part: string) => `"messages": [{"role":"user","content":[${part}]}]`;

it.each([
  [
    'an address',
    `{"type":"image_url","image_url":{"url":"${A}"}}`,
    '{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}}',
  ],
  [
    'one that stands alone',
    `{"image_url":"${A}","type":"image_url"}`,
    '{"image_url":"data:image/png;base64,AAAA","type":"image_url"}',
  ],
  [
    'one with quotes in it',
    `{"image_url":{"url":${JSON.stringify(B)}}}`,
    '{"image_url":{"url":"data:image/gif;base64,BBBB"}}',
  ],
  [
    'one with escaped slashes',
    `{"image_url":{"url":"${A.replaceAll('/', '\\/')}"}}`,
    '{"image_url":{"url":"data:image/png;base64,AAAA"}}',
  ],
  [
    'one escaped all through',
    `{"image_url":{"url":"${escaped(A)}"}}`,
    '{"image_url":{"url":"data:image/png;base64,AAAA"}}',
  ],
  [
    'one whose keys are escaped',
    `{"image_u\\u0072l":{"\\u0075rl":"${A}"}}`,
    '{"image_u\\u0072l":{"\\u0075rl":"data:image/png;base64,AAAA"}}',
  ],
  [
    'one among blanks',
    `{ "image_url" :\n{ "url"\t: "${A}" } }`,
    '{ "image_url" :\n{ "url"\t: "data:image/png;base64,AAAA" } }',
  ],
  [
    'one with a detail',
    `{"image_url":{"detail":"high","url":"${A}","seed":12345678901234567890}}`,
    '{"image_url":{"detail":"high","url":"data:image/png;base64,AAAA","seed":12345678901234567890}}',
  ],
])('replaces %s, and nothing else', (_case, part, expected) => {
  expect(replace(member(part))).toBe(member(expected));
});

it('replaces every place of an address that stands twice, under a key that stands twice too', () => {
  const part = `{"image_url":{"url":"${A}","url":"${A}"}},{"image_url":"${B.replaceAll('"', '\\"').replace('\\ü', '\\\\ü')}"}`;
  const text = replace(member(part), 2);
  expect(text).not.toContain('example.org');
  expect(text.match(/AAAA/g)).toHaveLength(2);
});

it.each([
  ['a text that is the same', `{"type":"text","text":"${A}"}`],
  ['a key that is the same', `{"${A}":1}`],
  ['a member of that name elsewhere', `{"other":{"image_url":{"url":"${A}"}}}`],
  ['a list in place of the address', `{"image_url":["${A}"]}`],
  ['something deeper', `{"image_url":{"url":{"url":"${A}"}}}`],
  ['another member beside the address', `{"image_url":{"uri":"${A}"}}`],
  ['an inline image', '{"image_url":{"url":"data:image/png;base64,CCCC"}}'],
])('leaves %s alone', (_case, part) => {
  const image = `{"image_url":{"url":"${A}"}}`;
  expect(replace(member(`${part},${image}`))).toBe(
    member(`${part},{"image_url":{"url":"data:image/png;base64,AAAA"}}`),
  );
});

it('throws rather than let an address through that an engine would fetch', () => {
  expect(() => replace('"messages":[]')).toThrow('0 of 1 image addresses');
  expect(() => replace(member('{"image_url":{"url":"https://example.org/other.png"}}'))).toThrow('0 of 1');
});

it('gives the bytes as they are where there is nothing to replace', () => {
  const bytes = Buffer.from(member(`{"image_url":{"url":"${A}"}}`));
  expect(replaceImageUrls(bytes, { fetched: new Map(), expected: 0 })).toEqual([bytes]);
});

describe('for any conversation', () => {
  const aUrl = fc.constantFrom(A, B);
  const aPart = fc.oneof(
    aUrl.map((url) => ({ type: 'image_url', image_url: { url } })),
    aUrl.map((url) => ({ type: 'image_url', image_url: url })),
    aUrl.map((text) => ({ type: 'text', text })),
    fc.jsonValue({ maxDepth: 3, stringUnit: 'grapheme' }).map((extra) => ({ type: 'text', text: 'x', extra })),
  );
  const aMessage = fc.record({
    role: fc.constant('user'),
    content: fc.oneof(fc.string(), fc.array(aPart, { maxLength: 4 })),
  });

  /** The same by way of parsed values. */
  const replaced = (part: unknown): unknown => {
    const { image_url: image, ...rest } = part as { image_url?: string | { url: string } };
    if (image === undefined) return part;
    const dataUrl = String(fetched.get(typeof image === 'string' ? image : image.url));
    return { ...rest, image_url: typeof image === 'string' ? dataUrl : { url: dataUrl } };
  };

  it('parses to what replacing in the parsed one gives', () => {
    fc.assert(
      fc.property(fc.array(aMessage, { maxLength: 4 }), fc.constantFrom(undefined, 1, '\t'), (messages, spacing) => {
        const parts = messages.flatMap(({ content }) => (Array.isArray(content) ? content : []));
        const expected = parts.filter((part) => 'image_url' in part).length;
        const text = `"messages":${JSON.stringify(messages, null, spacing)}`;
        expect(JSON.parse(`{${replace(text, expected)}}`).messages).toEqual(
          messages.map(({ content, ...message }) => ({
            ...message,
            content: Array.isArray(content) ? content.map(replaced) : content,
          })),
        );
      }),
      { numRuns: 300 },
    );
  });
});

function escaped(text: string): string {
  return [...text].map((character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`).join('');
}
