import { z } from 'zod';
import { tokenCount } from './tokenUsage.ts';
import { costField } from './usdAmount.ts';

const itemStatus = z
  .enum(['in_progress', 'completed', 'incomplete'])
  .meta({ description: '`incomplete`: the output was cut within this item.' });
const itemId = z.string().meta({ description: 'Id of the item within this response; nothing is stored under it.' });

const textPart = z.strictObject({
  type: z.literal('output_text'),
  text: z.string(),
  annotations: z.array(z.never()).meta({ description: 'Always empty.' }),
  logprobs: z.array(z.never()).meta({ description: 'Always empty, because log probabilities are not available.' }),
});
const refusalPart = z.strictObject({ type: z.literal('refusal'), refusal: z.string() });
const reasoningPart = z.strictObject({ type: z.literal('reasoning_text'), text: z.string() });

/** One item of a response's `output`. */
export const responseItemSchema = z
  .discriminatedUnion('type', [
    z.strictObject({
      type: z.literal('reasoning'),
      id: itemId,
      status: itemStatus,
      summary: z.array(z.never()).meta({ description: 'Always empty: the reasoning itself is in `content`.' }),
      content: z.array(reasoningPart).optional().meta({ description: 'The reasoning of a reasoning model.' }),
    }),
    z.strictObject({
      type: z.literal('message'),
      id: itemId,
      status: itemStatus,
      role: z.literal('assistant'),
      content: z.array(z.discriminatedUnion('type', [textPart, refusalPart])).meta({ description: 'What was said.' }),
    }),
    z.strictObject({
      type: z.literal('function_call'),
      id: itemId,
      status: itemStatus,
      call_id: z.string().meta({ description: 'Repeat it in the `function_call_output` with the result.' }),
      name: z.string(),
      namespace: z.string().optional().meta({ description: 'Of a function from a namespace.' }),
      arguments: z.string().meta({ description: 'JSON as the model wrote it. Check it before using it.' }),
    }),
  ])
  .meta({ title: 'Response item', description: 'Reasoning, a message or a call of a function.' });

const responseUsage = z.strictObject({
  input_tokens: tokenCount.meta({ description: 'Tokens of the prompt, cached ones included.' }),
  input_tokens_details: z
    .strictObject({ cached_tokens: tokenCount.meta({ description: 'Read from the prefix cache.' }) })
    .meta({ description: 'The public API’s field for cached tokens.' }),
  output_tokens: tokenCount.meta({ description: 'Tokens generated, reasoning included.' }),
  output_tokens_details: z
    .strictObject({ reasoning_tokens: tokenCount.meta({ description: 'Reasoning tokens among them.' }) })
    .meta({ description: 'The public API’s field for reasoning tokens.' }),
  total_tokens: tokenCount.meta({ description: 'The sum of both.' }),
  cost: costField,
});

const repeated = z.unknown().meta({ description: 'Repeated from the request.' });

/** `POST /v1/responses`, unstreamed. */
export const responseSchema = z
  .strictObject({
    id: z.string().meta({ description: 'Derived from the call’s id. Nothing is stored under it.' }),
    object: z.literal('response'),
    created_at: z.int().min(0).meta({ description: 'Unix time in seconds.' }),
    status: z.enum(['in_progress', 'completed', 'incomplete', 'failed']).meta({
      description: '`incomplete`: the output limit was reached, which is 2048 tokens without streaming.',
    }),
    background: z.literal(false),
    error: z
      .strictObject({ code: z.string(), message: z.string() })
      .nullable()
      .meta({ description: 'Why the stream failed; null unless it did.' }),
    incomplete_details: z
      .strictObject({ reason: z.enum(['max_output_tokens', 'content_filter']) })
      .nullable()
      .meta({ description: 'Why the response is incomplete; null if it is complete.' }),
    model: z.string().meta({ description: 'Canonical id of the model, also if the request has an alias.' }),
    output: z.array(responseItemSchema).meta({ description: 'The response, item by item.' }),
    instructions: repeated,
    max_output_tokens: repeated,
    metadata: repeated,
    parallel_tool_calls: repeated,
    previous_response_id: z.null().meta({ description: 'Always null, because nothing is stored.' }),
    reasoning: repeated,
    store: z.literal(false).meta({ description: 'Nothing is stored, whatever the request has.' }),
    temperature: repeated,
    text: repeated,
    tool_choice: repeated,
    tools: repeated,
    top_p: repeated,
    truncation: z.literal('disabled'),
    usage: responseUsage.nullable().meta({ description: 'Null until the response is complete.' }),
  })
  .meta({ title: 'Response', description: 'A response of the Responses API.' });

const numbered = { sequence_number: z.int().min(0).meta({ description: 'Counts the events of the stream from 0.' }) };
const ofItem = { ...numbered, output_index: z.int().min(0) };
const ofNamed = { ...ofItem, item_id: itemId };
const ofPart = { ...ofNamed, content_index: z.literal(0) };
const part = z.discriminatedUnion('type', [textPart, refusalPart, reasoningPart]);
const logprobs = z.array(z.never()).meta({ description: 'Always empty.' });
const ofResponse = (type: string) => z.strictObject({ type: z.literal(type), ...numbered, response: responseSchema });
const ofText = (type: 'reasoning_text' | 'refusal') => [
  z.strictObject({ type: z.literal(`response.${type}.delta`), ...ofPart, delta: z.string() }),
  z.strictObject({
    type: z.literal(`response.${type}.done`),
    ...ofPart,
    ...(type === 'refusal' ? { refusal: z.string() } : { text: z.string() }),
  }),
];

/** One event of a streamed response. */
export const responseEventSchema = z
  .union([
    ofResponse('response.created'),
    ofResponse('response.in_progress'),
    ofResponse('response.completed'),
    ofResponse('response.incomplete'),
    ofResponse('response.failed'),
    z.strictObject({ type: z.literal('response.output_item.added'), ...ofItem, item: responseItemSchema }),
    z.strictObject({ type: z.literal('response.output_item.done'), ...ofItem, item: responseItemSchema }),
    z.strictObject({ type: z.literal('response.content_part.added'), ...ofPart, part }),
    z.strictObject({ type: z.literal('response.content_part.done'), ...ofPart, part }),
    z.strictObject({ type: z.literal('response.output_text.delta'), ...ofPart, delta: z.string(), logprobs }),
    z.strictObject({ type: z.literal('response.output_text.done'), ...ofPart, text: z.string(), logprobs }),
    ...ofText('reasoning_text'),
    ...ofText('refusal'),
    z.strictObject({ type: z.literal('response.function_call_arguments.delta'), ...ofNamed, delta: z.string() }),
    z.strictObject({
      type: z.literal('response.function_call_arguments.done'),
      ...ofNamed,
      name: z.string(),
      arguments: z.string(),
    }),
  ])
  .meta({ title: 'Response event', description: 'One event of a streamed response.' });
