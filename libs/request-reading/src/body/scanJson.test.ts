import { describe, expect, it } from '@jest/globals';
import { aCharacter } from '@turnpike/test-support/aCharacter';
import fc from 'fast-check';
import { ANY_PLACE, findRepeatedKey, scanJson } from './scanJson.ts';

// The same cases every time: no run fails by chance.
fc.configureGlobal({ seed: 20_261_121 });

const LIMITS = {
  depth: 64,
  values: 100_000,
  members: 512,
  membersOfOne: 4_096,
  dearKeys: 8_192,
  textBytes: 4 * 1_048_576,
};
const scan = (text: string) => scanJson(Buffer.from(text), LIMITS);

/** How deep a value is nested; a flat object is 1. */
function depthOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  return 1 + Math.max(0, ...Object.values(value).map(depthOf));
}

const aKey = fc.oneof(
  fc.string({ unit: aCharacter, maxLength: 8 }),
  fc.constantFrom('model', 'a"b', '\\', '', '__proto__'),
);
const anObject = fc.dictionary(aKey, fc.jsonValue({ maxDepth: 4, stringUnit: aCharacter }), { noNullPrototype: true });
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

describe('an inline image that is looked at in several steps', () => {
  const STEP = 65_536;
  it.each([-2, -1, 0, 1, 2].flatMap((by) => [STEP + by, 2 * STEP + by]))('ends at its quote: %d bytes', (length) => {
    const image = `data:image/png;base64,${'A'.repeat(length)}`.slice(0, length);
    for (const before of ['', ' ', '  ']) {
      const { members, literals, textBytes, memberCount } = scan(`{${before}"a":"${image}","b":1}`);
      expect(members.map(({ key }) => key)).toEqual(['a', 'b']);
      expect(literals.map(({ path, bytes }) => [path, bytes.toString()])).toEqual([[['a'], `"${image}"`]]);
      expect(textBytes).toBe(`{${before}"a":,"b":1}`.length);
      expect(memberCount).toBe(2);
    }
  });

  it.each([-3, -2, -1, 0, 1].map((by) => STEP + by))('is none where its quote is escaped: %d bytes', (length) => {
    const text = `data:image/png;base64,${'A'.repeat(length)}`.slice(0, length);
    const { literals, textBytes } = scan(`{"a":"${text}\\" B","b":1}`);
    expect(literals.map(({ bytes }) => bytes.toString())).toEqual([`"${text}\\" B"`]);
    expect(textBytes).toBe(`{"a":"${text}\\" B","b":1}`.length);
  });

  it('is none where it never ends', () => {
    const text = `{"a":"data:image/png;base64,${'A'.repeat(3 * STEP)}`;
    expect(scan(text).textBytes).toBe(text.length);
  });
});

/** The members of all objects in a value. */
function countMembersOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  const below = Object.values(value).reduce<number>((sum, each) => sum + countMembersOf(each), 0);
  return Array.isArray(value) ? below : below + Object.keys(value).length;
}

describe('the members of all objects', () => {
  // No control characters: V8's parser loses a key that has one now and then.
  const aTree = fc.jsonValue({ maxDepth: 5, stringUnit: 'grapheme' });
  it('are counted, whatever stands in texts', () => {
    fc.assert(
      fc.property(aTree, aSpacing, (value, spacing) => {
        const text = JSON.stringify(value, null, spacing);
        expect(scan(text).memberCount).toBe(countMembersOf(JSON.parse(text)));
        expect(findRepeatedKey(Buffer.from(text))).toBeUndefined();
      }),
      { numRuns: 500 },
    );
  });

  it.each<[string, (string | number)[] | undefined]>([
    ['{"a":1,"b":{"a":1}}', undefined],
    ['{"a":1,"a":1}', ['a']],
    ['{"b":[0,{"a":"\\"a\\":","c":[],"\\u0061":1}],"b":1}', ['b', 1, 'a']],
    ['[{"a":1},{"a":1},{"":1,"":2}]', [2, '']],
  ])('of %s, the first that stands twice in one object is found', (text, path) => {
    expect(findRepeatedKey(Buffer.from(text))).toEqual(path);
  });

  it('are limited in one object', () => {
    const fields = Array.from({ length: 5_000 }, (_, index) => `"k${index}":1`);
    expect(scan(`{"a":{${fields.join(',')}}}`).mostMembers).toBe(4_097);
  });
});

describe('literals', () => {
  const long = 'x"\\\n'.repeat(400);
  const literalsOf = (value: unknown, ...kept: Parameters<typeof scanJson>[2][]) =>
    scanJson(Buffer.from(JSON.stringify(value, null, 1)), LIMITS, kept[0]).literals.map(({ path, bytes }) => ({
      path,
      value: JSON.parse(bytes.toString()),
    }));

  it('are long texts, each with the way to it', () => {
    expect(literalsOf({ [long]: 1, a: [0, { b: long, 'c\n': [[long], 'short'] }], d: long })).toEqual([
      { path: ['a', 1, 'b'], value: long },
      { path: ['a', 1, 'c\n', 0, 0], value: long },
      { path: ['d'], value: long },
    ]);
  });

  it('are what stands at the places asked for, after what it holds', () => {
    const schema = { long, a: [{ schema: 1 }] };
    const value = { list: [{ schema }, { schema: [1], x: { schema: {} } }], schema: {} };
    expect(literalsOf(value, [['list', ANY_PLACE, 'schema']])).toEqual([
      { path: ['list', 0, 'schema', 'long'], value: long },
      { path: ['list', 0, 'schema'], value: schema },
      { path: ['list', 1, 'schema'], value: [1] },
    ]);
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

  it.each(['data:text/plain;base64,AAAA', 'DATA:;base64,AAAA', 'dAtA:image/*;name=a;base64,AAAA'])(
    'leave out %s, whatever its type and case',
    (content) => {
      expect(scan(`{"a":"${content}"}`).textBytes).toBe('{"a":}'.length);
    },
  );

  it.each(['data:image/ \\" not base64', ' data:image/png;base64,AAAA', 'date:image/png;base64,AAAA'])(
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
