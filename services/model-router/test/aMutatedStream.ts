import fc from 'fast-check';

/** An engine's bytes in the pieces in which they are written. */
export interface MutatedStream {
  pieces: Buffer[];
}

const chunk = (delta: object, finish: string | null = null, fields: object = {}): object => ({
  id: 'chatcmpl-1',
  object: 'chat.completion.chunk',
  created: 1_790_000_000,
  model: 'engine-name',
  choices: [{ index: 0, delta, logprobs: null, finish_reason: finish, stop_reason: null, token_ids: null }],
  usage: { prompt_tokens: 9, total_tokens: 12, completion_tokens: 3 },
  system_fingerprint: 'fp-engine',
  ...fields,
});
const call = (index: number, fields: object, named: object): object =>
  chunk({ tool_calls: [{ index, ...fields, function: named }] });
const usageChunk = (usage: object): object => chunk({}, null, { choices: [], usage });

/** Events of a sound stream, of which the middle ones may come in any number and order. */
const aSoundEvent = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 12 }).map((content) => chunk({ content })),
  fc.string({ unit: 'grapheme', maxLength: 12 }).map((reasoning) => chunk({ reasoning })),
  fc.constantFrom(
    chunk({ reasoning_content: 'Thinking « où » 天気 😀' }),
    call(0, { id: 'a', type: 'function' }, { name: 'f', arguments: '' }),
    call(0, {}, { arguments: '{"x":' }),
    call(1, {}, { name: 'g', arguments: '{}' }),
    chunk({}),
  ),
);
const aStart = fc.constantFrom([chunk({ role: 'assistant', content: '' })], []);
const anEnd = fc.constantFrom(
  [chunk({}, 'stop'), usageChunk({ prompt_tokens: 9, total_tokens: 12, completion_tokens: 3 })],
  [chunk({ content: '.' }, 'length')],
  [chunk({}, 'tool_calls'), chunk({}, 'tool_calls')],
);

/** Events that a broken engine puts in between, or in the place of others. */
const A_LIE = [
  'not JSON',
  '<html>',
  '[]',
  'null',
  '{}',
  '{"choices":7}',
  '{"choices":[]}',
  '{"choices":[{"index":0}]}',
  '{"error":{"message":"CUDA","code":500}}',
  '{"error":{"message":"no","code":400}}',
  '[DONE]',
  '[DONE] and more',
  JSON.stringify(chunk({ content: 'x' }, 'abort')),
  JSON.stringify(chunk({ content: 'x' }, 'repetition')),
  JSON.stringify(chunk({ content: 7 })),
  JSON.stringify(chunk({ tool_calls: [7] })),
  JSON.stringify(call(0, {}, { arguments: '{}' })),
  JSON.stringify(chunk({ content: 'x' }, null, { id: 'another', created: 7, model: 'another' })),
  JSON.stringify(usageChunk({ prompt_tokens: 9, completion_tokens: -5 })),
  JSON.stringify(chunk({ content: 'x' }, 'stop', { usage: null })),
  '{"id":"x","choices":[],"usage":{"prompt_tokens":1e400,"completion_tokens":1}}',
  `{"choices":[{"index":0,"delta":{"content":"${'x'.repeat(3_000)}"}}]}`,
];

const aText = fc
  .tuple(aStart, fc.array(aSoundEvent, { maxLength: 8 }), anEnd)
  .chain(([start, middle, end]) =>
    fc.record({
      events: fc.constant([...start, ...middle, ...end].map((event) => JSON.stringify(event))),
      lies: fc.array(fc.record({ at: fc.nat(14), isInstead: fc.boolean(), event: fc.constantFrom(...A_LIE) }), {
        maxLength: 2,
      }),
      lineEnd: fc.constantFrom('\n', '\n', '\r\n'),
      comment: fc.constantFrom('', '', ': keep-alive'),
      tail: fc.constantFrom('data: [DONE]', 'data: [DONE]', 'data: [DONE]', ''),
    }),
  )
  .map(({ events, lies, lineEnd, comment, tail }) => {
    for (const { at, isInstead, event } of lies) events.splice(Math.min(at, events.length), isInstead ? 1 : 0, event);
    const blocks = events.map((event) => `data: ${event}`);
    return [...(comment === '' ? [] : [comment]), ...blocks, tail, ''].join(lineEnd + lineEnd);
  });

/** Damage to the bytes themselves: most streams have none. */
const aDamage = fc.option(
  fc.record({ at: fc.nat(3_000), remove: fc.nat(40), insert: fc.uint8Array({ maxLength: 4 }) }),
  { freq: 2 },
);
/** The point at which the engine breaks off. */
const aCut = fc.option(fc.nat(3_000), { freq: 2 });

/** Streams of a sound engine, of one that lies, and of one whose bytes are damaged or break off, in pieces of any size. */
export const aMutatedStream: fc.Arbitrary<MutatedStream> = fc
  .record({ text: aText, damage: aDamage, cut: aCut, cuts: fc.array(fc.nat(4_000), { maxLength: 12 }) })
  .map(({ text, damage, cut, cuts }) => {
    const sound = Buffer.from(text);
    const damaged = damage
      ? Buffer.concat([sound.subarray(0, damage.at), damage.insert, sound.subarray(damage.at + damage.remove)])
      : sound;
    const bytes = cut === null ? damaged : damaged.subarray(0, cut);
    const edges = [0, ...cuts.filter((edge) => edge < bytes.length).sort((a, b) => a - b), bytes.length];
    return { pieces: edges.slice(1).map((edge, index) => bytes.subarray(edges[index], edge)) };
  });
