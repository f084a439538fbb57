import { describe, expect, it } from '@jest/globals';
import { aCharacter } from '@turnpike/test-support/aCharacter';
import fc from 'fast-check';
import { SseParser } from './engineStream.ts';

// The same cases every time: no run fails by chance.
fc.configureGlobal({ seed: 20_261_121 });

/** Reads chunks into bytes that belong to a connection: the next chunk is written over them. */
const parse = (...chunks: (string | Buffer)[]): string[] => {
  const parser = new SseParser();
  return chunks.flatMap((chunk) => {
    const bytes = Buffer.from(chunk);
    const events = parser.push(bytes);
    const read = events === 'too_large' ? [events] : events.map(String);
    bytes.fill('?');
    return read;
  });
};

it.each<[string, string, string[]]>([
  ['two events', 'data: one\n\ndata: two\n\n', ['one', 'two']],
  ['CR LF line ends', 'data: one\r\n\r\ndata: two\r\n\r\n', ['one', 'two']],
  ['comments', ': keep-alive\n\ndata: one\n: still here\n\n', ['one']],
  ['several data lines', 'data: one\ndata: two\n\n', ['one\ntwo']],
  ['no space after the colon', 'data:one\n\n', ['one']],
  ['only the first space removed', 'data:  one\n\n', [' one']],
  ['other fields', 'event: message\nid: 7\ndata: one\nretry: 10\n\n', ['one']],
  ['fields that only begin like data', 'database: one\n\ndata: two\n\n', ['two']],
  ['empty data', 'data:\n\ndata: one\n\n', ['one']],
  ['blank lines between events', 'data: one\n\n\n\ndata: two\n\n', ['one', 'two']],
  ['an event without its blank line', 'data: one\n\ndata: two\n', ['one']],
  ['carriage returns inside data', 'data: a\rb\n\n', ['a\rb']],
])('reads %s', (_case, text, events) => {
  expect(parse(text)).toEqual(events);
});

describe('whatever the sizes the bytes arrive in', () => {
  const aLine = fc
    .string({ unit: aCharacter, minLength: 1, maxLength: 30 })
    .map((text) => text.replace(/[\r\n]/g, '·'));
  const anEvent = fc.record({
    lines: fc.array(aLine, { minLength: 1, maxLength: 3 }),
    comment: fc.boolean(),
    lineEnd: fc.constantFrom('\n', '\r\n'),
  });

  it('the events are the same', () => {
    fc.assert(
      fc.property(fc.array(anEvent, { maxLength: 8 }), fc.array(fc.nat(400), { maxLength: 60 }), (events, cuts) => {
        const text = events
          .map(({ lines, comment, lineEnd }) =>
            [...(comment ? [': keep-alive'] : []), ...lines.map((line) => `data: ${line}`), '', ''].join(lineEnd),
          )
          .join('');
        const bytes = Buffer.from(text);
        const edges = [0, ...cuts.filter((cut) => cut < bytes.length).sort((a, b) => a - b), bytes.length];
        const chunks = edges.slice(1).map((edge, index) => bytes.subarray(edges[index], edge));
        // Compared as bytes that were decoded whole: a character split between two reads stays whole.
        const expected = events.map(({ lines }) => Buffer.from(lines.join('\n')).toString());
        expect(parse(...chunks)).toEqual(expected);
      }),
      { numRuns: 500 },
    );
  });
});

it.each<[string, Buffer, number]>([
  ['one endless line', Buffer.alloc(1_024, 'x'), 4_097],
  ['endless data lines', Buffer.from(`data: ${'x'.repeat(65_535)}\n`), 65],
  ['endless empty data lines', Buffer.from('data:\n'.repeat(65_536)), 65],
  ['endless lines of a byte', Buffer.from('data: x\n'.repeat(32_768)), 65],
  ['endless data lines between comments', Buffer.from(`data: ${'x'.repeat(32_767)}\n:${'c'.repeat(32_767)}\n`), 129],
])('refuses an event over 4 MiB: %s', (_case, piece, pieces) => {
  const parser = new SseParser();
  const results = Array.from({ length: pieces }, () => parser.push(piece));
  expect(results.pop()).toBe('too_large');
  expect(results).toEqual(results.map(() => []));
});

it('takes an event of just under 4 MiB that arrives in small pieces', () => {
  const text = 'x'.repeat(4 * 1_048_576 - 1_024);
  const bytes = Buffer.from(`data: ${text}\n\n`);
  const pieces = Array.from({ length: Math.ceil(bytes.length / 1_000) }, (_, index) =>
    bytes.subarray(index * 1_000, (index + 1) * 1_000),
  );
  expect(parse(...pieces)).toEqual([text]);
});
