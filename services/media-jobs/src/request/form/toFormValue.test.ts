import { expect, it } from '@jest/globals';
import { ApiError } from '@turnpike/public-api/apiError';
import { toFormValue } from './toFormValue.ts';

const KINDS = { numbers: ['temperature'], booleans: ['stream'], lists: ['include'] };

/** The value of a form of these fields, or why it is refused. */
function readingOf(...fields: [name: string, value: string][]): unknown {
  try {
    const value = toFormValue({ texts: fields.map(([name, text]) => ({ name, value: text })) }, KINDS);
    return JSON.parse(JSON.stringify(value));
  } catch (error) {
    if (error instanceof ApiError) return error.fault;
    throw error;
  }
}

it.each<[string, [string, string][], unknown]>([
  ['texts', [['model', '1']], { model: '1' }],
  [
    'numbers and booleans where the field is one',
    [
      ['temperature', '0.2'],
      ['stream', 'True'],
    ],
    { temperature: 0.2, stream: true },
  ],
  [
    'what is none as text, for the schema to refuse',
    [
      ['temperature', '0x2'],
      ['stream', 'yes'],
    ],
    { temperature: '0x2', stream: 'yes' },
  ],
  [
    'lists from brackets',
    [
      ['a[]', 'x'],
      ['model', 'm'],
      ['a[]', 'y'],
    ],
    { a: ['x', 'y'], model: 'm' },
  ],
  [
    'lists by name, with brackets or without',
    [
      ['include', 'x'],
      ['include[]', 'y'],
    ],
    { include: ['x', 'y'] },
  ],
  [
    'objects from brackets',
    [
      ['c[type]', 'server_vad'],
      ['c[threshold]', '1'],
    ],
    { c: { type: 'server_vad', threshold: '1' } },
  ],
  [
    'an empty text as absence, before the field and behind it',
    [
      ['model', ''],
      ['model', 'm'],
      ['temperature', ''],
      ['include[]', ''],
      ['include', ''],
      ['c[type]', ''],
    ],
    { model: 'm' },
  ],
  ['a number with zeros in front as text', [['temperature', '00.5']], { temperature: '00.5' }],
  [
    'names like any other',
    [
      ['constructor', 'x'],
      ['toString', 'y'],
    ],
    { constructor: 'x', toString: 'y' },
  ],
  [
    'names that are no fields as they are',
    [
      ['a]b', 'x'],
      ['a[b][c]', 'y'],
    ],
    { 'a]b': 'x', 'a[b][c]': 'y' },
  ],
])('reads %s', (_case, fields, value) => {
  expect(readingOf(...fields)).toEqual(value);
});

it.each<[string, [string, string][], string]>([
  [
    'a text',
    [
      ['model', 'x'],
      ['model', 'x'],
    ],
    'model',
  ],
  [
    'a member of an object',
    [
      ['c[type]', 'x'],
      ['c[type]', 'y'],
    ],
    'c',
  ],
  [
    'a text and an object',
    [
      ['c', 'x'],
      ['c[type]', 'y'],
    ],
    'c',
  ],
  [
    'a list and a text',
    [
      ['c[]', 'x'],
      ['c', 'y'],
    ],
    'c',
  ],
  [
    'an object and a list',
    [
      ['c[type]', 'x'],
      ['c[]', 'y'],
    ],
    'c',
  ],
])('refuses %s given twice', (_case, fields, param) => {
  expect(readingOf(...fields)).toEqual({ kind: 'invalid_request', message: `${param} is given more than once`, param });
});

it('refuses a NUL character, and says where', () => {
  expect(readingOf(['prompt', 'a\0'])).toEqual({
    kind: 'body_text_unsendable',
    has: 'a NUL character',
    param: 'prompt',
  });
});
