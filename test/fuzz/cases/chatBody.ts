import fc from 'fast-check';
import { maybe, sampling, someText, streaming } from './bodyFields.ts';

const CHAT_MODELS = [
  ...['meta-llama/Llama-3.3-70B-Instruct', 'some-owner/llama-3.1-8b-instruct', 'llama-3.3-70b-instruct'],
  ...['llama-3.1-8b-instruct', 'deepseek-r1', 'qwen3-coder-30b-a3b-instruct'],
];
const VISION_MODEL = 'qwen2.5-vl-7b-instruct';

/** One pixel. */
const PNG =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

const textPart = fc.record({ type: fc.constant('text'), text: someText });
const imagePart = fc.record({
  type: fc.constant('image_url'),
  image_url: fc.constantFrom<unknown>(
    { url: PNG, detail: 'low' },
    PNG,
    PNG.replace('data:image/png', 'DATA:;a=b'),
    { url: PNG, detail: 'original', x: null },
    { url: 'http://127.0.0.1:1/a.png' },
  ),
});
const content = fc.oneof({ weight: 3, arbitrary: someText }, fc.array(textPart, { maxLength: 3 }));
const visionContent = fc.array(fc.oneof(textPart, imagePart), { minLength: 1, maxLength: 4 });

const toolCall = fc.record(
  {
    id: fc.constantFrom('call_1', 'call_2'),
    type: fc.constant('function'),
    function: fc.record({
      name: fc.constantFrom('look_up', 'a'),
      arguments: fc.option(fc.oneof(fc.json({ maxDepth: 2 }), someText)),
    }),
    thought_signature: someText,
  },
  { requiredKeys: ['id', 'function'] },
);

const role = <Name extends string>(name: Name) => fc.constant(name);
const message = fc.oneof(
  { weight: 4, arbitrary: fc.record({ role: role('user'), content }) },
  { weight: 2, arbitrary: fc.record({ role: fc.constantFrom('system', 'developer'), content }) },
  {
    weight: 2,
    arbitrary: fc.record(
      { role: role('assistant'), content: fc.option(content), tool_calls: fc.array(toolCall, { maxLength: 2 }) },
      { requiredKeys: ['role', 'content'] },
    ),
  },
  fc.record({
    role: role('tool'),
    tool_call_id: fc.constantFrom('call_1', 'x'),
    content: fc.option(content),
    is_error: fc.boolean(),
  }),
  fc.record({ role: role('function'), name: fc.constant('look_up'), content: fc.option(content) }),
);

/** JSON schemas, nested within each other. */
const { schema: jsonSchema } = fc.letrec<{ schema: object }>((tie) => ({
  schema: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.record({ type: fc.constantFrom('string', 'integer', 'number', 'boolean', 'null') }),
    fc.record({ enum: fc.array(fc.oneof(someText, fc.integer()), { minLength: 1, maxLength: 3 }) }),
    fc.record({ type: fc.constant('string'), pattern: fc.constantFrom('^a+$', '(a+)+$', '(', '^[a-z]{2,4}$') }),
    fc.record({ type: fc.constant('array'), items: tie('schema'), maxItems: fc.nat(3) }),
    fc.record({ anyOf: fc.array(tie('schema'), { minLength: 1, maxLength: 2 }) }),
    fc.record({
      type: fc.constant('object'),
      properties: fc.dictionary(fc.constantFrom('a', 'b', 'größe', '__proto__', '漢'), tie('schema'), { maxKeys: 3 }),
      required: fc.subarray(['a', 'b']),
    }),
  ),
}));

const tool = fc.record({
  type: fc.constant('function'),
  function: fc.record(
    {
      name: fc.constantFrom('look_up', 'a', 'größe'),
      description: someText,
      parameters: jsonSchema,
      strict: fc.boolean(),
    },
    { requiredKeys: ['name'] },
  ),
});

const responseFormat = fc.oneof(
  fc.constantFrom<object>({ type: 'text' }, { type: 'json_object' }, { type: 'text', json_schema: null }),
  fc.record({ type: fc.constant('json_object'), schema: jsonSchema }),
  fc.record({
    type: fc.constant('json_schema'),
    json_schema: fc.record({ name: fc.constant('answer'), schema: jsonSchema, strict: fc.option(fc.boolean()) }),
  }),
);

const toolFields = fc.record(
  {
    tools: fc.array(tool, { minLength: 1, maxLength: 3 }),
    tool_choice: fc.constantFrom<unknown>('auto', 'none', 'required', {
      type: 'function',
      function: { name: 'look_up' },
    }),
    parallel_tool_calls: fc.boolean(),
  },
  { requiredKeys: ['tools'] },
);

const withText = fc.record({
  model: fc.constantFrom(...CHAT_MODELS),
  messages: fc.array(message, { minLength: 1, maxLength: 4 }),
});
const withTools = fc
  .tuple(
    fc.record({ model: fc.constantFrom(...CHAT_MODELS.slice(0, 4)) }),
    fc.array(message, { minLength: 1, maxLength: 3 }),
    toolFields,
  )
  .map(([model, messages, tools]) => ({ ...model, messages, ...tools }));
const withImages = fc.record({
  model: fc.constant(VISION_MODEL),
  messages: fc.array(fc.record({ role: role('user'), content: visionContent }), { minLength: 1, maxLength: 2 }),
});

/** A chat that is well-formed; most of them an engine takes. */
export const chatBody: fc.Arbitrary<object> = fc
  .tuple(
    fc.oneof({ weight: 4, arbitrary: withText }, { weight: 2, arbitrary: withTools }, withImages),
    sampling,
    streaming,
    maybe({ response_format: responseFormat, chat_template_kwargs: fc.record({ enable_thinking: fc.boolean() }) }),
  )
  .map((parts) => Object.assign({}, ...parts));
