import fc from 'fast-check';

/** Some of the fields, or none. */
export const maybe = <Fields extends Record<string, unknown>>(
  fields: { [Name in keyof Fields]: fc.Arbitrary<Fields[Name]> },
): fc.Arbitrary<object> => fc.record(fields, { requiredKeys: [] });

const UNUSUAL = [
  'é',
  'ß',
  '漢字',
  '😀',
  '👩‍👩‍👧',
  'e\u0301',
  '\u202e',
  '\u0000',
  '\ud800',
  '\udc00',
  '\ufeff',
  '\u2028',
  '"',
  '\\',
  '\n',
];

/** Plain words, any Unicode, and now and then what is no text at all: lone surrogates and NUL. */
export const someText: fc.Arbitrary<string> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.constantFrom('hello', 'Why is the sky blue?', 'naïve café', '日本語のテスト', '🙂🙃', 'a'),
  },
  { weight: 6, arbitrary: fc.string({ unit: 'grapheme', maxLength: 24 }) },
  { weight: 1, arbitrary: fc.array(fc.constantFrom(...UNUSUAL), { maxLength: 4 }).map((texts) => texts.join('')) },
);

const seed = fc.oneof(fc.integer(), fc.constantFrom(0, -1, 2 ** 31, 2 ** 53, -(2 ** 63), 2 ** 63));

/** Always few tokens: what is fuzzed is the gateway, not the engine's patience. */
export const sampling: fc.Arbitrary<object> = fc
  .tuple(
    fc.record({ max_tokens: fc.integer({ min: 1, max: 6 }) }),
    maybe({
      temperature: fc.double({ min: 0, max: 2, noNaN: true }),
      top_p: fc.double({ min: 0, max: 1, noNaN: true }),
      presence_penalty: fc.double({ min: -2, max: 2, noNaN: true }),
      frequency_penalty: fc.constantFrom(-2, 0, 2),
      stop: fc.oneof(someText, fc.array(someText, { maxLength: 4 })),
      seed,
      user: someText,
      n: fc.constantFrom(1, null),
      top_logprobs: fc.constantFrom(0, false),
      session_id: someText,
      logprobs: fc.constantFrom(false, null),
      top_k: fc.constantFrom(1, -1),
      repetition_penalty: fc.constant(1.1),
      logit_bias: fc.constant({ '17': 1 }),
    }),
  )
  .map((parts) => Object.assign({}, ...parts));

export const streaming: fc.Arbitrary<object> = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom<object>({}, { stream: false }) },
  { weight: 2, arbitrary: fc.constantFrom<object>({ stream: true }, { stream: true, stream_options: {} }) },
  { weight: 1, arbitrary: fc.constantFrom<object>({ stream: true, stream_options: { include_usage: true } }) },
);
