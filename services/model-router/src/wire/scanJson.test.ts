import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { scanJson } from './scanJson.ts';

// The same cases every time: no run fails by chance.
fc.configureGlobal({ seed: 20_261_121 });

const LIMITS = { depth: 64, values: 100_000, members: 512, textBytes: 4 * 1_048_576 };
const scan = (text: string) => scanJson(Buffer.from(text), LIMITS);

/** How deep a value is nested; a flat object is 1. */
function depthOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  return 1 + Math.max(0, ...Object.values(value).map(depthOf));
}

const aKey = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 8 }),
  fc.constantFrom('model', 'a"b', '\\', '', '__proto__'),
);
const anObject = fc.dictionary(aKey, fc.jsonValue({ maxDepth: 4, stringUnit: 'binary' }), { noNullPrototype: true });
const aSpacing = fc.constantFrom(undefined, 1, '\t', '\n ');

describe('for any JSON object', () => {
  it('finds each member where it lies', () => {
    fc.assert(
      fc.property(anObject, aSpacing, (object, spacing) => {
        // Written member by member, so that no parser is asked: V8's reads a control character in a key wrong now and then.
        const expected = Object.entries(object).map(([key, value]) => ({
          key,
          text: JSON.stringify(value, null, spacing),
        }));
        const padding = spacing === undefined ? '' : '\n ';
        const written = expected.map(({ key, text }) => `${padding}${JSON.stringify(key)}:${padding}${text}`);
        const bytes = Buffer.from(`{${written.join(',')}${padding}}`);
        const { members, depth } = scanJson(bytes, LIMITS);
        const found = members.map(({ key, valueStart, end }) => ({
          key,
          text: bytes.toString('utf8', valueStart, end).trim(),
        }));
        expect(found).toEqual(expected);
        for (const { key, start, end } of members)
          expect(bytes.toString('utf8', start, end).startsWith(JSON.stringify(key))).toBe(true);
        expect(depth).toBe(depthOf(object));
      }),
      { numRuns: 500 },
    );
  });
});

it('reads an escaped key as a parser does', () => {
  expect(scan('{"mod\\u0065l":1,"\\u006dodel":2}').members.map(({ key }) => key)).toEqual(['model', 'model']);
});

it('counts depth and values, and stops where a limit is passed', () => {
  expect(scan('{"a":[[1,2],{"b":3}]}')).toMatchObject({ depth: 3, values: 6 });
  expect(scan('['.repeat(64) + ']'.repeat(64)).depth).toBe(64);
  expect(scan('['.repeat(5_000_000)).depth).toBe(65);
  expect(scan(`[${'1,'.repeat(200_000)}1]`).values).toBe(100_001);
});

describe('bytes outside inline images', () => {
  it('end the scan when they pass the limit', () => {
    const shape = scanJson(Buffer.from(`{"a":"${'x'.repeat(100)}","b":[[[1]]]}`), { ...LIMITS, textBytes: 50 });
    expect(shape).toMatchObject({ depth: 1, members: [] });
    expect(shape.textBytes).toBeGreaterThan(50);
  });

  it('leave out one whose slashes are escaped', () => {
    const text = `{"messages":[{"url":"data:image\\/png;base64,${'A\\/'.repeat(300)}"}]}`;
    expect(scan(text).textBytes).toBeLessThan(60);
  });

  it('leave out what looks like one', () => {
    const text = `{"messages":[{"url":"data:image/png;base64,${'A'.repeat(1_000)}"}]}`;
    expect(scan(text).textBytes).toBe(text.length - 1_000 - 'data:image/png;base64,""'.length);
  });

  it.each(['data:text/plain;base64,AAAA', 'data:image/ \\" not base64', ' data:image/png;base64,AAAA'])(
    'count %s as text',
    (content) => {
      const text = `{"a":"${content}"}`;
      expect(scan(text).textBytes).toBe(text.length);
    },
  );
});

it.each<[string, Buffer]>([
  ['small objects', Buffer.from(`[${'{},'.repeat(7_000_000)}`)],
  ['quotes', Buffer.alloc(20_971_520, '"')],
  ['escaped quotes', Buffer.from(`{"a":"${'\\"'.repeat(10_000_000)}"}`)],
  ['escaped quotes that pose as an image', Buffer.from(`{"a":"data:image/${'\\"'.repeat(10_000_000)}"}`)],
  ['backslashes', Buffer.from(`{"a":"${'\\\\'.repeat(10_000_000)}"}`)],
  ['spaces', Buffer.alloc(20_971_520, ' ')],
  ['keys without end', Buffer.from(`{${'"":'.repeat(7_000_000)}`)],
  ['brackets', Buffer.alloc(20_971_520, '[')],
  ['fields', Buffer.from(`{${'"a":1,'.repeat(3_000_000)}"b":1}`)],
])('20 MB of %s pass a limit without blocking the process', (_case, bytes) => {
  const before = process.threadCpuUsage();
  const { depth, values, textBytes, members } = scanJson(bytes, LIMITS);
  // The promise is 200 ms. Counted is what this thread computed, not what others had the processor for.
  expect(process.threadCpuUsage(before).user / 1_000).toBeLessThan(1_000);
  expect(
    depth > LIMITS.depth || values > LIMITS.values || textBytes > LIMITS.textBytes || members.length > LIMITS.members,
  ).toBe(true);
});
