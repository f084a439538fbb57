import fc from 'fast-check';
import { maybe, someText } from './bodyFields.ts';

const MODELS = ['llama-3.3-70b-instruct', 'llama-3.1-8b-instruct', 'qwen3-coder-30b-a3b-instruct', 'deepseek-r1-0528'];
const model = fc.constantFrom(...MODELS);
const schema = fc.constantFrom<object>(
  {},
  { type: 'object' },
  { type: 'object', properties: { größe: { type: 'number' } } },
);
const kind = <Name extends string>(name: Name) => fc.constant(name);
const few = fc.integer({ min: 1, max: 6 });
const stream = fc.constantFrom(true, false, null);

const responsesPart = fc.oneof(
  fc.record({ type: fc.constantFrom('input_text', 'output_text'), text: someText }),
  fc.record({ type: kind('refusal'), refusal: someText }),
);
const responsesContent = fc.oneof(someText, fc.array(responsesPart, { maxLength: 3 }));
const item = fc.oneof(
  { weight: 4, arbitrary: fc.record({ role: kind('user'), content: responsesContent }) },
  fc.record({
    type: kind('message'),
    id: someText,
    status: kind('completed'),
    role: fc.constantFrom('assistant', 'system', 'developer'),
    content: responsesContent,
  }),
  fc.record({
    type: kind('function_call'),
    call_id: kind('c1'),
    name: kind('a'),
    arguments: fc.oneof(fc.json({ maxDepth: 2 }), someText),
  }),
  fc.record({ type: kind('function_call_output'), call_id: kind('c1'), output: someText }),
  fc.record({
    type: kind('reasoning'),
    summary: fc.constant([]),
    content: fc.array(fc.record({ type: kind('reasoning_text'), text: someText }), { maxLength: 2 }),
    encrypted_content: fc.option(someText),
  }),
);
const flatTool = fc.record(
  {
    type: kind('function'),
    name: fc.constantFrom('a', 'look_up'),
    parameters: fc.option(schema),
    strict: fc.boolean(),
  },
  { requiredKeys: ['type', 'name'] },
);
const spaceOfTools = fc.record({
  type: kind('namespace'),
  name: fc.constantFrom('mcp__files__', 'files'),
  tools: fc.array(flatTool, { maxLength: 2 }),
});

/** A request of the Responses API that is well-formed. */
export const responsesBody: fc.Arbitrary<object> = fc
  .tuple(
    fc.record({
      model,
      input: fc.oneof(someText, fc.array(item, { minLength: 1, maxLength: 4 })),
      max_output_tokens: few,
    }),
    maybe({
      stream,
      instructions: someText,
      tools: fc.array(fc.oneof(flatTool, spaceOfTools), { maxLength: 3 }),
      tool_choice: fc.constantFrom<unknown>('auto', 'none', 'required', { type: 'function', name: 'a' }),
      text: fc.constantFrom<object>({ format: { type: 'json_object' } }, { verbosity: 'low' }, {}),
      reasoning: fc.constantFrom<object>({ effort: 'minimal', summary: 'auto' }, { effort: 'none' }),
      metadata: fc.dictionary(someText, someText, { maxKeys: 2 }),
      include: fc.constant(['reasoning.encrypted_content']),
      store: fc.boolean(),
      previous_response_id: fc.constantFrom(null, 'resp_1'),
      prompt_cache_key: someText,
    }),
  )
  .map((parts) => Object.assign({}, ...parts));

const textBlock = fc.record({ type: kind('text'), text: someText, cache_control: fc.constant({ type: 'ephemeral' }) });
const result = fc.record({
  type: kind('tool_result'),
  tool_use_id: kind('c1'),
  content: fc.oneof(someText, fc.array(textBlock, { maxLength: 2 })),
  is_error: fc.boolean(),
});
const spoken = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      role: kind('user'),
      content: fc.oneof(someText, fc.array(fc.oneof(textBlock, result), { maxLength: 3 })),
    }),
  },
  fc.record({
    role: kind('assistant'),
    content: fc.array(
      fc.oneof(
        textBlock,
        fc.record({ type: kind('thinking'), thinking: someText, signature: kind('unsigned') }),
        fc.record({
          type: kind('tool_use'),
          id: kind('c1'),
          name: kind('a'),
          input: fc.dictionary(someText, fc.json()),
        }),
      ),
      { maxLength: 3 },
    ),
  }),
  fc.record({ role: kind('system'), content: someText }),
);
const promptFields = {
  system: fc.oneof(someText, fc.array(textBlock, { maxLength: 2 })),
  tools: fc.array(fc.record({ name: fc.constantFrom('a', 'look_up'), input_schema: schema }), { maxLength: 2 }),
  tool_choice: fc.constantFrom<object>(
    { type: 'auto' },
    { type: 'any' },
    { type: 'tool', name: 'a' },
    { type: 'none' },
  ),
  thinking: fc.constantFrom<object>({ type: 'adaptive' }, { type: 'disabled' }, { type: 'enabled', budget_tokens: 9 }),
  context_management: fc.constant({ edits: [] }),
};
const prompt = fc.record({ model, messages: fc.array(spoken, { minLength: 1, maxLength: 4 }) });

/** A request of the Messages API that is well-formed. */
export const messagesBody: fc.Arbitrary<object> = fc
  .tuple(
    prompt,
    fc.record({ max_tokens: few }),
    maybe({
      ...promptFields,
      stream,
      stop_sequences: fc.array(someText, { maxLength: 3 }),
      top_k: fc.nat(9),
      metadata: fc.record({ user_id: someText }),
    }),
  )
  .map((parts) => Object.assign({}, ...parts));

/** A prompt that is to be counted. */
export const countedBody: fc.Arbitrary<object> = fc
  .tuple(prompt, maybe(promptFields))
  .map((parts) => Object.assign({}, ...parts));
