import { describe, expect, it } from '@jest/globals';
import { aCharacter } from '@turnpike/test-support/aCharacter';
import fc from 'fast-check';
import { aChatRequest, aJsonBody } from '../../../test/aChatRequest.ts';
import { aPricedModel } from '../../../test/aPricedModel.ts';
import { parseChatRequest } from '../../request/chatRequest.ts';
import type { InferenceRequest } from '../../request/inferenceRequest.ts';
import { toEngineBody, toQuestionBody } from './vllm.ts';

// The same cases every time: no run fails by chance.
fc.configureGlobal({ seed: 20_261_121 });

const aRequestOf = (text: string): InferenceRequest => parseChatRequest(aJsonBody(text));
const messages = '"messages":[{"role":"user","content":"Hello"}]';

const toText = (request: InferenceRequest, supportedFeatures: string[] = []): string =>
  Buffer.concat(
    toEngineBody(request, {
      model: aPricedModel({ supportedFeatures }),
      servedName: 'engine-name',
      maxOutputTokens: 512,
      cacheSalt: 'salt',
    }),
  ).toString();
const toQuestion = (request: InferenceRequest, question: object, servedName: string): string =>
  Buffer.concat(toQuestionBody(request, question, servedName)).toString();
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

it('calls the developer role system, as engines do, and keeps the messages otherwise', () => {
  const conversation = [
    { role: 'developer', content: 'Be brief', name: 'd' },
    { role: 'user', content: [{ type: 'text', text: 'Hi' }] },
  ];
  expect(toBody(aChatRequest({ messages: conversation })).messages).toEqual([
    { role: 'system', content: 'Be brief', name: 'd' },
    conversation[1],
  ]);
});

const LONG = 'Grüße "an" alle\n🎈\\'.repeat(200);
const INLINE = `data:image/png;base64,iVBORw0KGgoA${'A'.repeat(4_000)}`;

describe('whatever texts a conversation has', () => {
  const aText = fc.oneof(
    fc.string({ unit: 'grapheme', maxLength: 20 }),
    fc.string({ unit: aCharacter, maxLength: 5 }).map((text) => text.toWellFormed().replaceAll('\0', '').repeat(600)),
    fc.constantFrom('data:image/', '"'.repeat(1_023), `data:image/${'\\'.repeat(600)}`),
  );
  const anImage = fc.constantFrom(INLINE, 'data:image/png;base64,iVBORw0KGgo=');
  const aPart = fc.oneof(
    aText.map((text) => ({ type: 'text', text, annotations: [{ text }] })),
    aText.map((refusal) => ({ type: 'refusal', refusal, cache_control: refusal })),
    anImage.map((url) => ({ type: 'image_url', image_url: url, index: url })),
    anImage.map((url) => ({ type: 'image_url', image_url: { url, detail: 'low', format: url } })),
  );
  const content = fc.oneof(aText, fc.array(aPart, { maxLength: 4 }));
  const aCall = fc
    .tuple(aText, aText)
    .map(([id, text]) => ({ id, type: 'function', function: { name: id, arguments: text } }));
  const aMessage = fc.oneof(
    fc.record({ role: fc.constantFrom('system', 'developer', 'user'), content, name: aText, cache_control: aText }),
    fc.record({
      role: fc.constant('assistant'),
      content: fc.option(content),
      tool_calls: fc.array(aCall, { maxLength: 2 }),
      refusal: aText,
    }),
    fc.record({ role: fc.constant('tool'), content, tool_call_id: aText }),
  );
  const aTool = fc.record({
    name: fc.constant('f'),
    description: aText,
    // No control characters in keys, as above.
    parameters: fc.dictionary(fc.string({ unit: 'grapheme', maxLength: 6 }), aText, { maxKeys: 2 }),
  });

  it('an engine is given what was checked, and asked to count the same', () => {
    fc.assert(
      fc.property(
        fc.array(aMessage, { minLength: 1, maxLength: 4 }),
        fc.array(aTool, { maxLength: 2 }),
        fc.boolean(),
        (conversation, functions, isEscaped) => {
          const tools = functions.map((each) => ({ type: 'function', function: each }));
          const text = JSON.stringify({ model: 'a'.repeat(1_024), messages: conversation, tools });
          const request = aRequestOf(isEscaped ? text.replaceAll('/', '\\/') : text);
          const { messages: checked } = request.written;
          const [question = {}] = request.tokenizeQuestions();
          const body = toBody(request);
          const asked = JSON.parse(toQuestion(request, question, 'engine-name'));
          expect(body.messages).toEqual(checked);
          expect(body.tools ?? []).toEqual(tools);
          expect(asked).toEqual(JSON.parse(JSON.stringify({ model: 'engine-name', ...question })));
        },
      ),
      { numRuns: 200 },
    );
  });
});

it('copies the images and long texts of what an engine is asked to count, as writing 20 MiB again takes long', () => {
  const text = JSON.stringify({ model: 'a', messages: [{ role: 'user', content: [{ type: 'text', text: LONG }] }] });
  const request = aRequestOf(text.replaceAll('Gr', '\\u0047r'));
  const [question = {}] = request.tokenizeQuestions();
  expect(toQuestion(request, question, 'b')).toContain('\\u0047r');
});

it('writes long texts wherever they stand as the client wrote them, and knows a bare address of an image for one', () => {
  const conversation = [
    { role: 'system', content: LONG, name: LONG },
    {
      role: 'user',
      content: [
        { type: 'text', text: LONG },
        { type: 'image_url', image_url: { url: INLINE } },
        { type: 'image_url', image_url: INLINE },
        { type: 'text', text: 'short' },
      ],
    },
    { role: 'assistant', tool_calls: [{ id: 'c', type: 'function', function: { name: 'f', arguments: LONG } }] },
  ];
  const tools = [{ type: 'function', function: { name: 'f', description: LONG, parameters: { description: LONG } } }];
  const body = toBody(aChatRequest({ messages: conversation, tools, [`x${LONG}`]: LONG }));
  expect(body.messages).toEqual([
    conversation[0],
    {
      role: 'user',
      content: [
        { type: 'text', text: LONG },
        { type: 'image_url', image_url: { url: INLINE } },
        { type: 'image_url', image_url: { url: INLINE } },
        { type: 'text', text: 'short' },
      ],
    },
    { content: null, ...conversation[2] },
  ]);
  expect(body.tools).toEqual(tools);
  expect(body[`x${LONG}`]).toBe(LONG);
});

it('leaves out what clients send and no engine needs', () => {
  const conversation = [
    {
      role: 'assistant',
      content: [{ type: 'text', text: 'x', cache_control: { type: 'ephemeral' }, index: 0 }],
      tool_calls: [],
      refusal: null,
      audio: { id: LONG },
      annotations: [LONG],
      name: null,
    },
  ];
  expect(toBody(aChatRequest({ messages: conversation })).messages).toEqual([
    { role: 'assistant', content: [{ type: 'text', text: 'x' }] },
  ]);
});

it.each([
  '{"type":"integer","maximum":9223372036854775807,"minimum":-0,"x":1e400,"2":0,"1":0,"__proto__":{"a":1}}',
  '{}',
])('passes the schema %s on digit for digit', (schema) => {
  const tools = `"tools":[{"type":"function","function":{"name":"f","parameters":${schema}}}]`;
  const format = `"response_format":{"type":"json_schema","json_schema":{"name":"n","schema":${schema}}}`;
  const text = toText(aRequestOf(`{"model":"a",${messages},${tools},${format}}`), ['json_schema', 'tools']);
  expect(text).toContain(`"parameters":${schema}`);
  expect(text).toContain(`"schema":${schema}`);
});

const aText = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 20 }),
  fc.string({ unit: 'grapheme', minLength: 1, maxLength: 3 }).map((piece) => piece.repeat(600)),
);
const aPart = fc.oneof(
  aText.map((text) => ({ type: 'text', text })),
  fc.constantFrom('', 'A'.repeat(2_000)).map((data) => {
    const url = `data:image/png;base64,iVBORw0KGgoA${data}`;
    return { type: 'image_url', image_url: { url } };
  }),
);
const aMessage = fc.oneof(
  fc.record({ role: fc.constantFrom('system', 'user'), content: fc.oneof(aText, fc.array(aPart, { maxLength: 4 })) }),
  fc.record({
    role: fc.constant('assistant'),
    content: aText,
    tool_calls: fc.array(
      fc.record({
        id: aText,
        type: fc.constant('function'),
        function: fc.record({ name: aText, arguments: aText }),
      }),
      { minLength: 1, maxLength: 3 },
    ),
  }),
);

it('an engine reads of any conversation what the client wrote', () => {
  fc.assert(
    fc.property(fc.array(aMessage, { minLength: 1, maxLength: 6 }), fc.constantFrom(undefined, 2), (list, spacing) => {
      const images = list
        .flatMap(({ content }) => (Array.isArray(content) ? content : []))
        .filter((part) => 'image_url' in part);
      fc.pre(images.length <= 16);
      expect(toBody(aRequestOf(JSON.stringify({ messages: list, model: 'a' }, null, spacing))).messages).toEqual(list);
    }),
    { numRuns: 300 },
  );
});

describe('images that were fetched', () => {
  const URL = 'https://example.org/a.png';
  const fetched = new Map([[URL, Buffer.from('data:image/png;base64,AAAA')]]);
  const conversation = (role: string) =>
    `[{"role":"${role}","content":"${URL}"}, {"role":"user","content":[{"type":"image_url","image_url":{"url":"${URL}","detail":"low"}}]}]`;
  const aReadyRequest = (text: string): InferenceRequest => {
    const request = aRequestOf(text);
    return { ...request, images: { ...request.images, fetched } };
  };

  it('take the place of their addresses, and texts that hold the same address stay', () => {
    const text = toText(
      aReadyRequest(`{"model":"a","messages": ${conversation('system')},"seed":9223372036854775807}`),
    );
    expect(text).toContain('"image_url":{"url":"data:image/png;base64,AAAA","detail":"low"}');
    expect(text).toContain(`"content":"${URL}"`);
    expect(text).toContain('"seed":9223372036854775807');
  });

  it('do so in a conversation that is written anew, too', () => {
    const body = toBody(aReadyRequest(`{"model":"a","messages":${conversation('developer')}}`));
    expect(body.messages[0]).toEqual({ role: 'system', content: URL });
    expect(body.messages[1].content[0].image_url.url).toBe('data:image/png;base64,AAAA');
  });

  it('are required: no body is made that an engine would fetch from', () => {
    expect(() => toText(aRequestOf(`{"model":"a","messages":${conversation('user')}}`))).toThrow('not fetched');
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
