import { z } from 'zod';
import { tokenCount } from './tokenUsage.ts';
import { costField } from './usdAmount.ts';

const thinkingBlock = z.strictObject({
  type: z.literal('thinking'),
  thinking: z.string().meta({ description: 'The reasoning of a reasoning model.' }),
  signature: z.string().meta({ description: 'Without meaning, because responses are not signed.' }),
});
const textBlock = z.strictObject({ type: z.literal('text'), text: z.string() });
const toolUseBlock = z.strictObject({
  type: z.literal('tool_use'),
  id: z.string().meta({ description: 'Repeat it as `tool_use_id` in the result.' }),
  name: z.string(),
  input: z.record(z.string(), z.unknown()).meta({
    description: 'The model’s output. If that is no JSON object, as in a call that was cut, it is under `arguments`.',
  }),
});
const contentBlock = z.discriminatedUnion('type', [thinkingBlock, textBlock, toolUseBlock]);

const usageFields = {
  input_tokens: tokenCount.meta({ description: 'Tokens of the prompt that were not read from the cache.' }),
  cache_creation_input_tokens: tokenCount.meta({ description: 'Always 0, because it is not charged.' }),
  cache_read_input_tokens: tokenCount.meta({ description: 'Tokens of the prompt that were read from the cache.' }),
  output_tokens: tokenCount.meta({ description: 'Tokens generated, reasoning included.' }),
};
const messageUsage = z.strictObject({ ...usageFields, cost: costField.optional() });

const stopFields = {
  stop_reason: z
    .enum(['end_turn', 'max_tokens', 'stop_sequence', 'tool_use', 'refusal'])
    .nullable()
    .meta({ description: '`max_tokens`: the output limit, which is 2048 tokens without streaming.' }),
  stop_sequence: z
    .string()
    .nullable()
    .meta({ description: 'The one that ended the output, if the engine reports it.' }),
};

/** `POST /v1/messages`, unstreamed. */
export const messageSchema = z
  .strictObject({
    id: z.string().meta({ description: 'Derived from the call’s id.' }),
    type: z.literal('message'),
    role: z.literal('assistant'),
    model: z.string().meta({ description: 'Canonical id of the model, also if the request has an alias.' }),
    content: z.array(contentBlock).meta({ description: 'The response, block by block.' }),
    ...stopFields,
    usage: messageUsage,
  })
  .meta({ title: 'Message', description: 'A response of the Messages API.' });

/** An error in the form of the Messages API. */
export const messagesErrorSchema = z
  .strictObject({
    type: z.literal('error'),
    error: z.looseObject({
      type: z.string().meta({ description: 'The error type of the Messages API.' }),
      message: z
        .string()
        .meta({ description: 'For people. It has no key, no prompt and no internals of the service.' }),
      param: z.string().optional().meta({ description: 'The field that is wrong, if it is known.' }),
      code: z.string().optional().meta({ description: 'For debugging; not part of the contract.' }),
    }),
    request_id: z.string().optional(),
  })
  .meta({ title: 'Messages error', description: 'The error of the Messages API, with the details of a chat’s.' });

const index = z.int().min(0).meta({ description: 'Which block this belongs to.' });
const delta = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('text_delta'), text: z.string() }),
  z.strictObject({ type: z.literal('thinking_delta'), thinking: z.string() }),
  z.strictObject({ type: z.literal('signature_delta'), signature: z.string() }),
  z.strictObject({ type: z.literal('input_json_delta'), partial_json: z.string() }),
]);

/** One event of a streamed message. */
export const messageEventSchema = z
  .discriminatedUnion('type', [
    z.strictObject({ type: z.literal('message_start'), message: messageSchema }),
    z.strictObject({ type: z.literal('content_block_start'), index, content_block: contentBlock }),
    z.strictObject({ type: z.literal('content_block_delta'), index, delta }),
    z.strictObject({ type: z.literal('content_block_stop'), index }),
    z.strictObject({ type: z.literal('message_delta'), delta: z.strictObject(stopFields), usage: messageUsage }),
    z.strictObject({ type: z.literal('message_stop') }),
    messagesErrorSchema,
  ])
  .meta({ title: 'Message event', description: 'One event of a streamed message.' });

/** `POST /v1/messages/count_tokens`. */
export const tokenCountSchema = z
  .strictObject({ input_tokens: tokenCount.meta({ description: 'Tokens of the prompt, as the engine counts them.' }) })
  .meta({ title: 'Token count', description: 'How long a prompt is.' });
