import { expect, it } from '@jest/globals';
import { type SpanAttributes, toAllowedAttributes, toSpanName } from './callSpan.ts';

it('lets through what is on the list, and leaves out what is undefined', () => {
  const attributes: SpanAttributes = {
    'http.route': 'GET /v1/models/:id',
    'http.response.status_code': 200,
    'turnpike.call_id': '01970f3c-5d1e-7b32-9c7e-2f7d1c5b6a10',
    'turnpike.model': 'meta-llama/Llama-3.3-70B-Instruct',
    'turnpike.is_stream': true,
    'turnpike.candidates': 'h/b:1@c score=5 load=3 cached=0, engine-2 score=9 load=0 cached=0',
    'turnpike.reason': undefined,
  };
  const { 'turnpike.reason': _reason, ...rest } = attributes;
  expect(toAllowedAttributes(attributes)).toEqual(rest);
});

it.each([
  ['an attribute that is not on it', { prompt: 'hello' }],
  ['one that every object has', { constructor: 'x' }],
  ['an API key', { 'turnpike.request_id': 'sk-4fjK2mZ0q8YtB6nXc1RvW9aL5sDhGeUoPi7T' }],
  ['an API key in something else', { 'turnpike.model': 'x:sk-4fjK2mZ0q8YtB6nXc1RvW9aL5sDhGeUoPi7T' }],
  ['prose', { 'turnpike.model': 'tell me a joke' }],
  ['prose as a code', { 'turnpike.reason': 'the user asked about Bob' }],
  ['a raw path with a query', { 'http.route': 'GET /v1/models?key=1' }],
  ['a value without a bound', { 'turnpike.call_id': 'x'.repeat(129) }],
  ['prose among engines', { 'turnpike.candidates': 'a score=1 load=1 cached=0, tell me a joke' }],
  ['a score that is none', { 'turnpike.candidates': 'a score=joke load=1 cached=0' }],
  ['a key as an engine', { 'turnpike.candidates': `sk-${'a'.repeat(36)} score=1 load=1 cached=0` }],
  [
    'more engines than 16',
    { 'turnpike.candidates': Array.from({ length: 17 }, (_, at) => `e${at} score=1 load=1 cached=0`).join(', ') },
  ],
  ['an object', { 'turnpike.rows': { prompt: 'hello' } }],
  ['a text for a number', { 'turnpike.prompt_tokens': 'hello' }],
])('leaves out %s, whatever the types said', (_case, attributes) => {
  expect(toAllowedAttributes(attributes as SpanAttributes)).toEqual({});
});

it('takes a name that code chose, and no other', () => {
  expect(toSpanName('POST /v1/chat/completions')).toBe('POST /v1/chat/completions');
  expect(toSpanName('hello, what is {"this"}?')).toBe('unnamed');
  expect(toSpanName('Bearer sk-4fjK2mZ0q8YtB6nXc1RvW9aL5sDhGeUoPi7T')).toBe('unnamed');
});
