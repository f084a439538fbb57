import { z } from 'zod';
import { MAX_MESSAGES, MAX_TOOL_NAME_LENGTH, MAX_TOOLS } from './chatRequest.ts';
import { generationFields, ignored, optional, withDefault } from './requestFields.ts';

const itemFields = {
  id: ignored('Taken from clients that send back what an answer had.'),
  status: ignored('Taken from clients that send back what an answer had.'),
};
const inputText = z.object({ type: z.literal('input_text'), text: z.string() });
const outputText = z.object({ type: z.literal('output_text'), text: z.string() });
const refusal = z.object({ type: z.literal('refusal'), refusal: z.string() });
const inputImage = z
  .object({
    type: z.literal('input_image'),
    image_url: z.string('must be a public http(s) address or a base64 data URL: files are not kept here').min(1),
    detail: optional(z.enum(['auto', 'low', 'high', 'original'])),
  })
  .meta({ description: 'An image, on models that take them; 16 in one request at most.' });

const messageContent = z.union(
  [
    z.string(),
    z.array(
      z.discriminatedUnion(
        'type',
        [inputText, outputText, refusal, inputImage],
        'must be input_text, output_text, refusal or input_image',
      ),
    ),
  ],
  'must be a text or a list of input_text, output_text, refusal and input_image parts',
);
const toolOutput = z.union(
  [z.string(), z.array(z.discriminatedUnion('type', [inputText, inputImage], 'must be input_text or input_image'))],
  'must be a text or a list of input_text and input_image parts',
);

/** One item of `input`. An item without a type is a message. */
export const responsesItemSchema = z.discriminatedUnion(
  'type',
  [
    z.object({
      ...itemFields,
      type: z.literal('message'),
      role: z.enum(['user', 'assistant', 'system', 'developer']),
      content: messageContent,
    }),
    z
      .object({
        ...itemFields,
        type: z.literal('function_call'),
        call_id: z.string(),
        name: z.string().min(1),
        namespace: optional(z.string()),
        arguments: withDefault(z.string(), '{}'),
      })
      .meta({ description: 'A function call, from an earlier response.' }),
    z
      .object({ ...itemFields, type: z.literal('function_call_output'), call_id: z.string(), output: toolOutput })
      .meta({ description: 'The result of the function.' }),
    z
      .object({
        ...itemFields,
        type: z.literal('reasoning'),
        summary: ignored('Taken; only `content` is read.'),
        content: optional(z.array(z.object({ type: z.literal('reasoning_text'), text: z.string() }))),
        encrypted_content: ignored('Taken; answers have none, as their reasoning is in `content`.'),
      })
      .meta({ description: 'The model’s reasoning, from an earlier response.' }),
  ],
  // The AI SDK refers to earlier items by default.
  'must be message, function_call, function_call_output or reasoning: send the call of another tool as a function_call. Nothing is kept here: send the item itself in place of an item_reference, with the AI SDK by providerOptions.openai.store false',
);

const functionTool = z.object({
  type: z.literal('function'),
  name: z.string().min(1).max(MAX_TOOL_NAME_LENGTH),
  description: optional(z.string()),
  parameters: optional(z.record(z.string(), z.unknown())),
  strict: optional(z.boolean()),
});
const namespaceTool = z
  .object({
    type: z.literal('namespace'),
    name: z.string().min(1).max(128),
    description: optional(z.string()),
    tools: z
      .array(z.discriminatedUnion('type', [functionTool], 'must be function: only functions are called'))
      .max(MAX_TOOLS),
  })
  .meta({ description: 'Functions under one name; a call of one repeats that name.' });

/** A function that is offered, by its name, and by its namespace's where it stands in one. */
const namedFunction = z.object({
  type: z.literal('function'),
  name: z.string().min(1),
  namespace: optional(z.string()),
});

const INSTEAD_OF_HOSTED = ': nothing is run here. Offer the tool as a function, and run what the model calls';
const ONLY_FUNCTIONS = `must be function or namespace${INSTEAD_OF_HOSTED}`;
const KEPT_NOTHING = 'is not supported: nothing is kept here. Send the whole conversation as input';

/** A field of which only one value is taken, and what to do instead of others. */
const only = <Value extends string | boolean | number>(value: Value, otherwise: string) =>
  optional(z.literal(value, otherwise));
const never = (otherwise: string) =>
  optional(z.never(otherwise)).meta({ description: 'Not supported.', support: 'no' });

export const responsesRequestSchema = z
  .object({
    model: generationFields.model,
    input: z
      .union(
        [z.string(), z.array(responsesItemSchema).min(1, 'must hold at least one item').max(MAX_MESSAGES)],
        'must be a text or a list of items',
      )
      .meta({ description: 'A text, or the whole conversation so far as items.' }),
    instructions: optional(z.string()).meta({ description: 'The system message, before all of `input`.' }),
    tools: optional(
      z.array(z.discriminatedUnion('type', [functionTool, namespaceTool], ONLY_FUNCTIONS)).max(MAX_TOOLS),
    ).meta({ description: 'Functions that the model may call, alone or in namespaces.' }),
    tool_choice: optional(
      z.union(
        [
          z.enum(['none', 'auto', 'required']),
          z.discriminatedUnion(
            'type',
            [
              namedFunction,
              z.object({
                type: z.literal('allowed_tools'),
                mode: z.enum(['auto', 'required']),
                tools: z.array(namedFunction).max(MAX_TOOLS),
              }),
            ],
            'must name a function, or allowed_tools',
          ),
        ],
        `must be none, auto, required, a function or allowed_tools${INSTEAD_OF_HOSTED}`,
      ),
    ).meta({ description: 'With `required` or a function, a response without a call is 400.' }),
    parallel_tool_calls: optional(z.boolean()).meta({ description: 'Whether the model may call several at once.' }),
    text: optional(
      z.object({
        format: optional(
          z.discriminatedUnion(
            'type',
            [
              z.object({ type: z.literal('text') }),
              z.object({ type: z.literal('json_object') }),
              z.object({
                type: z.literal('json_schema'),
                name: z.string(),
                description: optional(z.string()),
                schema: z.record(z.string(), z.unknown()),
                strict: optional(z.boolean()),
              }),
            ],
            'must be text, json_object or json_schema',
          ),
        ),
        verbosity: ignored('Accepted and not passed to engines.'),
      }),
    ).meta({ description: 'The format of the output.' }),
    reasoning: optional(
      z.object({
        effort: optional(z.enum(['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'])).meta({
          description: 'Reasoning effort of a reasoning model. Engines know `low`, `medium` and `high`.',
        }),
        summary: ignored('Taken; the reasoning itself is in the answer.'),
        generate_summary: ignored('Taken; the reasoning itself is in the answer.'),
        context: ignored('Accepted and not passed to engines.'),
      }),
    ).meta({ description: 'Settings of a reasoning model.' }),
    max_output_tokens: generationFields.max_tokens,
    temperature: generationFields.temperature,
    top_p: generationFields.top_p,
    stream: generationFields.stream,
    metadata: optional(z.record(z.string(), z.unknown())).meta({ description: 'Repeated in the response.' }),
    include: optional(
      z.array(
        z
          .string()
          .refine(
            (name) => name !== 'message.output_text.logprobs',
            'is not supported: there are no log probabilities',
          ),
      ),
    ).meta({ description: 'Accepted. Reasoning is in the response, and never encrypted.' }),
    store: ignored('Taken; nothing is kept, and the answer says `store: false`.'),
    truncation: only('disabled', 'must be disabled: shorten input before you send it'),
    previous_response_id: never(KEPT_NOTHING),
    conversation: never(KEPT_NOTHING),
    prompt: never('is not supported: send its text as instructions and input'),
    background: only(false, 'must be false: send the request with stream, and read the answer as it comes'),
    top_logprobs: only(0, 'is not supported'),
    prompt_cache_key: ignored('Taken; calls go where the beginning of their input is cached.'),
    prompt_cache_retention: ignored('Taken; engines cache by themselves.'),
    prompt_cache_options: ignored('Taken; engines cache by themselves.'),
    stream_options: ignored('Taken; the last event has the usage.'),
    max_tool_calls: ignored('Taken; it limits tools that are run by a server.'),
    context_management: ignored('Taken, and not acted on.'),
    client_metadata: ignored('Accepted and not passed to engines.'),
    safety_identifier: ignored('Accepted and not passed to engines.'),
    service_tier: ignored('Taken; there is one.'),
    user: ignored('Accepted and not passed to engines.'),
  })
  .meta({
    title: 'Responses request',
    description: 'A conversation to be gone on with, as the Responses API says it. Fields beside these are dropped.',
  });

export type ResponsesRequest = z.output<typeof responsesRequestSchema>;
export type ResponsesItem = z.output<typeof responsesItemSchema>;
