import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { aChatRequest, aJsonBody } from '../../test/aChatRequest.ts';
import { aPricedModel } from '../../test/aPricedModel.ts';
import { parseChatRequest } from './chatRequest.ts';
import type { InferenceRequest } from './inferenceRequest.ts';
import { toEngineBody } from './toEngineBody.ts';

// The same cases every time: no run fails by chance.
fc.configureGlobal({ seed: 20_261_121 });

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

it.each([
  '"seed":9223372036854775807',
  '"seed":-9223372036854775808',
  '"temperature":1.0',
  '"temperature":-0',
  '"a_knob":1e400',
  '"a_knob":-0',
  '"a_knob":1.0',
  '"a_knob":12345678901234567890.10',
  '"a_knob":{"deeper":[1E+2,0.10]}',
])('keeps %s as the client wrote it', (member) => {
  expect(toText(aRequestOf(`{"model":"a",${messages},${member}}`))).toContain(`,${member}}`);
});

it.each([{ tools: [] }, { tools: [], tool_choice: 'auto' }, { tool_choice: 'none' }, { tool_choice: 'auto' }])(
  'of %j leaves out tools that are none, and the choice among them: newer engines refuse both',
  (fields) => {
    expect(Object.keys(toBody(aChatRequest(fields))).sort()).toEqual(['cache_salt', 'max_tokens', 'messages', 'model']);
  },
);

it('passes on keys that every object has as any other', () => {
  const odd = '"__proto__":{"priority":1},"constructor":1,"hasOwnProperty":2,"toString":3';
  expect(toText(aRequestOf(`{"model":"a",${messages},${odd}}`))).toContain(`,${odd}}`);
});

it('passes tool_choice none on beside its tools', () => {
  const tools = [{ type: 'function', function: { name: 'f' } }];
  expect(toBody(aChatRequest({ tools, tool_choice: 'none' }))).toMatchObject({ tools, tool_choice: 'none' });
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

describe('images that were fetched', () => {
  const URL = 'https://example.org/a.png';
  const fetched = new Map([[URL, Buffer.from('data:image/png;base64,AAAA')]]);
  const conversation = (role: string) =>
    `[{"role":"${role}","content":"${URL}"}, {"role":"user","content":[{"type":"image_url","image_url":{"url":"${URL}","seed":12345678901234567890}}]}]`;
  const aReadyRequest = (text: string): InferenceRequest => {
    const request = aRequestOf(text);
    return { ...request, images: { ...request.images, fetched } };
  };

  it('take the place of their addresses, and the rest stays as the client wrote it', () => {
    const text = toText(
      aReadyRequest(`{"model":"a","messages": ${conversation('system')},"seed":9223372036854775807}`),
    );
    expect(text).toContain('"url":"data:image/png;base64,AAAA","seed":12345678901234567890');
    expect(text).toContain(`"content":"${URL}"`);
    expect(text).toContain('"seed":9223372036854775807');
  });

  it('do so in a conversation that is written anew, too', () => {
    const body = toBody(aReadyRequest(`{"model":"a","messages":${conversation('developer')}}`));
    expect(body.messages[0]).toEqual({ role: 'system', content: URL });
    expect(body.messages[1].content[0].image_url.url).toBe('data:image/png;base64,AAAA');
  });

  it('are required: no body is made that an engine would fetch from', () => {
    expect(() => toText(aRequestOf(`{"model":"a","messages":${conversation('user')}}`))).toThrow('0 of 1');
  });
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
