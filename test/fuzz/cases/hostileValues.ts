import { aCharacter } from '@turnpike/test-support/aCharacter';
import fc from 'fast-check';

const nested = (open: string, close: string, depth: number): string =>
  `${open.repeat(depth)}${open.endsWith(':') ? '1' : ''}${close.repeat(depth)}`;

/** Around the limit of 64, and far beyond what a recursive reader bears. */
const DEEP = [62, 63, 64, 65, 5_000].flatMap((depth) => [nested('[', ']', depth), nested('{"a":', '}', depth)]);

const NUMBERS = [
  '0',
  '-0',
  '-1',
  '0.5',
  '1e400',
  '-1e400',
  '1e-400',
  '1E+2',
  '2147483648',
  '9007199254740993',
  '9223372036854775807',
  '9223372036854775808',
  '-9223372036854775809',
  '1180591620717411303424',
  '0.1000000000000000055511151231257827',
  `${'9'.repeat(400)}`,
];

const TEXTS = [
  '""',
  '"\\u0000"',
  '"\\ud800"',
  '"\\udfff\\ud800"',
  '"\\uD83D\\uDE00"',
  '"é 漢字 😀 e\\u0301 \\u202e \\ufeff"',
  '"\\u2028\\u2029\\r\\n\\t\\b\\f\\/"',
  '"$(id) `id` ; DROP TABLE usage_request; --"',
  '"\\u001b[31m\\r\\nx-injected: 1"',
  '"__proto__"',
  '"null"',
  '"1"',
  '"data:image/png;base64,AAAA"',
  '"data:image\\/png;base64,\\u0041"',
  '"http://127.0.0.1:1/a.png"',
  '"http://[::1]/"',
  '"http://169.254.169.254/latest"',
  '"file:///etc/passwd"',
];

/** Texts that are no JSON, though some parsers accept them. */
const NO_JSON = [
  'NaN',
  'Infinity',
  '-Infinity',
  'undefined',
  "'a'",
  '01',
  '+1',
  '.5',
  '1.',
  '0x10',
  'True',
  '',
  ',',
  '{"a"}',
  '"\t"',
  '"\\x41"',
  '/**/1',
  '// a\n1',
];

const OTHERS = [
  'null',
  'true',
  'false',
  '[]',
  '{}',
  '[null]',
  '[[]]',
  '{"":""}',
  '{"__proto__":{"x":1}}',
  '{"toString":1,"length":-1}',
  '[1,"a",null,{}]',
];

/** One among a thousand or so: each costs what a hundred others do. */
const HUGE = [
  nested('[', ']', 100_000),
  nested('{"a":', '}', 100_000),
  `[${'0,'.repeat(99_000)}0]`,
  `[${'0,'.repeat(100_001)}0]`,
  `{${Array.from({ length: 600 }, (_, index) => `"k${index}":${index}`).join(',')}}`,
  `"${'a'.repeat(1_000_000)}"`,
  `"${'\\u00e9'.repeat(100_000)}"`,
  `"${'漢'.repeat(200_000)}"`,
  `"data:image/png;base64,${'A'.repeat(1_000_000)}"`,
  '9'.repeat(300_000),
  `[${'{"type":"text","text":"a"},'.repeat(5_000)}{"type":"text","text":"a"}]`,
  `[${'"a",'.repeat(2_048)}"a"]`,
];

/** A JSON value, or a text in its place that is none, such as a field was not made for. */
export const hostileValue: fc.Arbitrary<string> = fc.oneof(
  { weight: 300, arbitrary: fc.constantFrom(...OTHERS) },
  { weight: 300, arbitrary: fc.constantFrom(...NUMBERS) },
  { weight: 300, arbitrary: fc.constantFrom(...TEXTS) },
  { weight: 100, arbitrary: fc.constantFrom(...NO_JSON) },
  { weight: 60, arbitrary: fc.constantFrom(...DEEP) },
  { weight: 150, arbitrary: fc.json({ maxDepth: 3 }) },
  { weight: 4, arbitrary: fc.constantFrom(...HUGE) },
);

/** Keys that mean something to an engine, to this gateway, or to JavaScript. */
export const hostileKey: fc.Arbitrary<string> = fc
  .oneof(
    fc.constantFrom(
      ...['__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty', 'then', '', ' ', '\u0000', '\ud800'],
      ...['model', 'Model', 'model ', 'mod\u0435l', 'messages', 'prompt', 'input', 'stream', 'max_tokens', 'n', 'user'],
      ...['cache_salt', 'priority', 'request_id', 'best_of', 'echo', 'documents', 'api_base', 'prompt_embeds'],
      ...[
        'chat_template',
        'chat_template_kwargs',
        'functions',
        'models',
        'guided_json',
        'structured_outputs',
        'ignore_eos',
        'min_tokens',
      ],
    ),
    fc.string({ unit: aCharacter, maxLength: 12 }),
  )
  .map((key) => JSON.stringify(key));

/** Each of the known ones, once. */
export const listHostileValues = (): string[] => [...OTHERS, ...NUMBERS, ...TEXTS, ...NO_JSON, ...DEEP, ...HUGE];
