import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import { type ToolCallDelta, ToolCallEditor } from './chat.ts';

// The same cases every time: no run fails by chance.
fc.configureGlobal({ seed: 20_261_121 });

const AN_INVENTED_ID = expect.stringMatching(/^call_[0-9a-f]{24}$/);

/** The client's deltas for an engine's, each entry of which came in a chunk of its own. */
function editAll(...entries: unknown[]): ToolCallDelta[] {
  const editor = new ToolCallEditor();
  return entries.flatMap((entry) => editor.edit([entry]) ?? [{ index: -1, function: { arguments: 'broken' } }]);
}
const begin = (index: number, fields: object = {}, name = 'f') => ({
  index,
  ...fields,
  function: { name, arguments: '' },
});
const go = (index: number, text: string, fields: object = {}) => ({ index, ...fields, function: { arguments: text } });

it('tells id, type and name once, at the beginning of a call, and then arguments alone', () => {
  expect(editAll(begin(0, { id: 'a', type: 'function' }), go(0, '{"x":'), go(0, '1}', { id: 'a' }))).toEqual([
    { index: 0, id: 'a', type: 'function', function: { name: 'f', arguments: '' } },
    { index: 0, function: { arguments: '{"x":' } },
    { index: 0, function: { arguments: '1}' } },
  ]);
});

it('invents an id that an engine does not give, one for each call', () => {
  const deltas = editAll(begin(0), go(0, '{}'), begin(1, { id: null }), begin(2, { id: '' }));
  expect(deltas.map(({ id }) => id)).toEqual([AN_INVENTED_ID, undefined, AN_INVENTED_ID, AN_INVENTED_ID]);
  expect(new Set(deltas.map(({ id }) => id)).size).toBe(4);
});

it('invents an id for one longer than 256 characters, which it would have to keep', () => {
  const [kept, invented] = editAll(begin(0, { id: 'a'.repeat(256) }), begin(1, { id: 'b'.repeat(257) }));
  expect([kept?.id, invented?.id]).toEqual(['a'.repeat(256), AN_INVENTED_ID]);
});

it('keeps 64 KiB of arguments at most that wait for names, of all calls together', () => {
  const editor = new ToolCallEditor();
  for (let index = 0; index < 64; index += 1) expect(editor.edit([go(index, 'x'.repeat(1_024))])).toEqual([]);
  expect(editor.edit([go(64, 'x')])).toBeUndefined();
  expect(editor.hasUnshowable).toBe(true);
});

it('gives no two calls the same id', () => {
  const [first, second] = editAll(begin(0, { id: 'a' }), begin(1, { id: 'a' }));
  expect([first?.id, second?.id]).toEqual(['a', AN_INVENTED_ID]);
});

it('does not repeat a name that an engine repeats with every piece', () => {
  const piece = (text: string) => ({ index: 0, function: { name: 'f', arguments: text } });
  expect(editAll(piece('{"x"'), piece(':1}'))).toEqual([
    { index: 0, id: AN_INVENTED_ID, type: 'function', function: { name: 'f', arguments: '{"x"' } },
    { index: 0, function: { arguments: ':1}' } },
  ]);
});

it('counts the calls from 0 without gaps in the order in which they appear, however the engine counts', () => {
  const deltas = editAll(begin(3), begin(7), go(3, 'a'), begin(1), go(7, 'b'), go(1, 'c'));
  expect(deltas.map(({ index }) => index)).toEqual([0, 1, 0, 2, 1, 2]);
});

it('tells calls without an index apart by their ids, and takes what has neither for more of the latest one', () => {
  const deltas = editAll(
    { id: 'a', function: { name: 'f', arguments: '' } },
    { function: { arguments: '1' } },
    { id: 'b', function: { name: 'g', arguments: '' } },
    { function: { arguments: '2' } },
    { id: 'a', function: { arguments: '3' } },
  );
  expect(deltas.map(({ index, function: { arguments: text } }) => [index, text])).toEqual([
    [0, ''],
    [0, '1'],
    [1, ''],
    [1, '2'],
    [0, '3'],
  ]);
});

it('keeps arguments back until the name is known', () => {
  const editor = new ToolCallEditor();
  expect(editor.edit([go(0, '{"x"', { id: 'a' })])).toEqual([]);
  expect([editor.hasCall, editor.hasUnshowable]).toEqual([false, true]);
  expect(editor.edit([{ index: 0, function: { name: 'f', arguments: ':1}' } }])).toEqual([
    { index: 0, id: 'a', type: 'function', function: { name: 'f', arguments: '{"x":1}' } },
  ]);
  expect([editor.hasCall, editor.hasUnshowable]).toEqual([true, false]);
});

it.each([
  ['an object', { x: 1 }, '{"x":1}'],
  ['null', null, ''],
  ['left out', undefined, ''],
])('shows arguments that are %s as text', (_case, given, text) => {
  expect(editAll({ index: 0, function: { name: 'f', arguments: given } })).toMatchObject([
    { function: { arguments: text } },
  ]);
});

it('leaves out a delta that tells nothing new', () => {
  expect(editAll(begin(0), go(0, ''), { index: 0 }, begin(0))).toHaveLength(1);
});

it.each<[string, () => unknown]>([
  ['no object', () => new ToolCallEditor().edit([7])],
  ['more than 1,024 calls', () => new ToolCallEditor().edit(Array.from({ length: 1_025 }, (_, index) => begin(index)))],
  ['64 KiB of arguments before a name', () => new ToolCallEditor().edit([go(0, 'x'.repeat(65_537))])],
])('does not take %s for calls', (_case, edit) => {
  expect(edit()).toBeUndefined();
});

it('makes up the same calls, whatever an engine leaves out, repeats and interleaves', () => {
  const aCall = fc.record({
    name: fc.string({ minLength: 1, maxLength: 8 }),
    pieces: fc.array(fc.string({ unit: 'grapheme', maxLength: 6 }), { maxLength: 6 }),
    hasId: fc.boolean(),
    repeatsName: fc.boolean(),
  });
  fc.assert(
    fc.property(fc.array(aCall, { minLength: 1, maxLength: 5 }), fc.infiniteStream(fc.nat()), (calls, picks) => {
      const editor = new ToolCallEditor();
      // Each call's pieces in their order, the calls among each other in any.
      const left = calls.map(({ pieces }, index) => ({ index, pieces: ['', ...pieces], isFirst: true }));
      const open = () => left.filter(({ pieces }) => pieces.length > 0);
      const order: number[] = [];
      const deltas: ToolCallDelta[] = [];
      while (open().length > 0) {
        const candidates = open();
        const next = candidates[picks.next().value % candidates.length];
        const call = next && calls[next.index];
        if (!next || !call) throw new Error('nothing left');
        const { name, hasId, repeatsName } = call;
        const text = next.pieces.shift();
        const given = {
          index: next.index * 2,
          ...(hasId && { id: `id-${next.index}` }),
          function: { ...((next.isFirst || repeatsName) && { name }), arguments: text },
        };
        if (next.isFirst) order.push(next.index);
        next.isFirst = false;
        deltas.push(...(editor.edit([given]) ?? []));
      }
      const joined = order.map((_, index) => {
        const [first, ...rest] = deltas.filter((delta) => delta.index === index);
        expect(rest.every((delta) => Object.keys(delta).length === 2 && !('name' in delta.function))).toBe(true);
        const text = [first, ...rest].map((delta) => delta?.function.arguments).join('');
        return { id: first?.id, type: first?.type, name: first?.function.name, text };
      });
      expect(joined).toEqual(
        order.map((index) => ({
          id: calls[index]?.hasId ? `id-${index}` : AN_INVENTED_ID,
          type: 'function',
          name: calls[index]?.name,
          text: calls[index]?.pieces.join(''),
        })),
      );
    }),
    { numRuns: 200 },
  );
});
