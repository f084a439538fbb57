import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { aChatRequest, aJsonBody } from '../../test/aChatRequest.ts';
import { aPricedModel } from '../../test/aPricedModel.ts';
import { parseChatRequest } from './chatRequest.ts';
import type { InferenceRequest } from './inferenceRequest.ts';
import { toEngineBody } from './toEngineBody.ts';

const aRequestOf = (text: string): InferenceRequest => parseChatRequest(aJsonBody(text));
const messages = '"messages":[{"role":"user","content":"Hello"}]';

const toText = (request: InferenceRequest, supportedFeatures: string[] = []): string =>
  toEngineBody(request, {
    model: aPricedModel({ supportedFeatures }),
    servedName: 'engine-name',
    maxOutputTokens: 512,
    cacheSalt: 'salt',
  }).toString();
const toBody = (request: InferenceRequest, supportedFeatures?: string[]) =>
  JSON.parse(toText(request, supportedFeatures));

it('sets what the router owns and passes the rest on', () => {
  const request = aChatRequest({ temperature: 0.5, top_k: 7, max_tokens: 9, user: 'someone', n: 1, logprobs: false });
  expect(toBody(request)).toEqual({
    model: 'engine-name',
    max_tokens: 512,
    cache_salt: 'salt',
    messages: [{ role: 'user', content: 'Hello' }],
    temperature: 0.5,
    top_k: 7,
  });
});

it('asks a streaming engine for the running count whatever the client asked for', () => {
  const request = aChatRequest({ stream: true, stream_options: { include_usage: false, other: 1 } });
  expect(toBody(request)).toMatchObject({
    stream: true,
    stream_options: { include_usage: true, continuous_usage_stats: true },
  });
});

describe('for any fields beside the owned ones', () => {
  const owned = new Set([
    'model',
    'messages',
    'stream',
    'stream_options',
    'max_tokens',
    'max_completion_tokens',
    'user',
  ]);
  const aField = fc.tuple(
    // No control characters in keys: V8's parser loses such a key now and then, and both sides are parsed here.
    fc.string({ unit: 'grapheme', maxLength: 6 }).map((name) => `x_${name}`),
    fc.jsonValue({ maxDepth: 3, stringUnit: 'grapheme' }),
  );

  it('the engine reads what the client wrote, with the owned members replaced and nulls gone', () => {
    fc.assert(
      fc.property(fc.array(aField, { maxLength: 8 }), fc.constantFrom(undefined, 2), (fields, spacing) => {
        const body = {
          ...Object.fromEntries(fields),
          model: 'a',
          messages: [{ role: 'user', content: 'ß' }],
          max_tokens: 3,
        };
        const text = JSON.stringify(body, null, spacing);
        const expected = Object.entries(JSON.parse(text)).filter(([key, value]) => !owned.has(key) && value !== null);
        expect(toBody(aRequestOf(text))).toEqual({
          ...Object.fromEntries(expected),
          messages: body.messages,
          model: 'engine-name',
          max_tokens: 512,
          cache_salt: 'salt',
        });
      }),
      { numRuns: 300 },
    );
  });
});

it('keeps a 64-bit seed digit for digit', () => {
  const text = toText(aRequestOf(`{"model":"a",${messages},"seed":9223372036854775807}`));
  expect(text).toContain('"seed":9223372036854775807');
});

it.each(['"mod\\u0065l":"evil"', '"model":"evil"', '"max_tok\\u0065ns":99', '"max_tokens":99'])(
  'lets no second spelling of an owned key through: %s',
  (smuggled) => {
    const text = toText(aRequestOf(`{"model":"a","max_tokens":3,${messages},${smuggled}}`));
    expect(text.match(/mod\\u0065l|max_tok\\u0065ns|evil|99/)).toBeNull();
    expect(text.match(/"model"/g)).toHaveLength(1);
    expect(text.match(/"max_tokens"/g)).toHaveLength(1);
  },
);

it('sends of a key that stands twice only the one that was checked', () => {
  const text = toText(aRequestOf(`{"model":"a","messages":[],"temperature":9,${messages},"temperature":1}`));
  expect(text.match(/"temperature":\s*\d/g)).toEqual(['"temperature":1']);
  expect(text.match(/"messages"/g)).toHaveLength(1);
  expect(JSON.parse(text).messages).toHaveLength(1);
});

it('calls the developer role system, as engines do, and keeps the messages otherwise', () => {
  const conversation = [
    { role: 'developer', content: 'Be brief', name: 'd' },
    { role: 'user', content: [{ type: 'text', text: 'Hi', extra: 1 }] },
  ];
  expect(toBody(aChatRequest({ messages: conversation })).messages).toEqual([
    { role: 'system', content: 'Be brief', name: 'd' },
    conversation[1],
  ]);
});

describe('response_format json_schema', () => {
  const responseFormat = { type: 'json_schema', json_schema: { name: 'n', schema: { type: 'object' } } };

  it('is passed on where the model supports it', () => {
    expect(toBody(aChatRequest({ response_format: responseFormat }), ['json_schema']).response_format).toEqual(
      responseFormat,
    );
  });

  it('falls back to json_object elsewhere', () => {
    expect(toBody(aChatRequest({ response_format: responseFormat })).response_format).toEqual({ type: 'json_object' });
  });
});

it('drops explicit nulls, which are absence', () => {
  const body = toBody(aChatRequest({ temperature: null, stop: null, tools: null, priority: null, unknown: null }));
  expect(Object.keys(body).sort()).toEqual(['cache_salt', 'max_tokens', 'messages', 'model']);
});
