import { z } from 'zod';
import {
  answerFields,
  chunkUsageField,
  finishReasonSchema,
  logprobsField,
  reasoningFields,
} from './generatedAnswer.ts';
import { tokenUsageSchema } from './tokenUsage.ts';

export const toolCallSchema = z
  .strictObject({
    id: z.string().meta({ description: 'Repeat it as `tool_call_id` in the message with the result.' }),
    type: z.literal('function'),
    function: z.strictObject({
      name: z.string(),
      arguments: z.string().meta({ description: 'JSON as the model wrote it, always text. Check it before using it.' }),
    }),
  })
  .meta({ title: 'Tool call', description: 'A function that the model wants called.' });

const messageSchema = z.strictObject({
  role: z.literal('assistant'),
  content: z.string().nullable().meta({ description: 'The text; null if the model only called tools.' }),
  refusal: z.string().nullable().meta({ description: 'Null unless the engine marks a refusal.' }),
  tool_calls: z.array(toolCallSchema).optional().meta({ description: 'Absent if no tool was called.' }),
  ...reasoningFields,
});

const choiceSchema = z.strictObject({
  index: z.literal(0).meta({ description: 'There is one choice.' }),
  message: messageSchema,
  logprobs: logprobsField,
  finish_reason: finishReasonSchema,
});

/** The body of an answer to `POST /v1/chat/completions` that is not streamed. */
export const chatCompletionSchema = z
  .strictObject({
    ...answerFields,
    object: z.literal('chat.completion'),
    choices: z.array(choiceSchema).length(1).meta({ description: 'One choice.' }),
    usage: tokenUsageSchema,
  })
  .meta({ title: 'Chat completion', description: 'A whole answer to a chat.' });

const toolCallDeltaSchema = z.strictObject({
  index: z.int().min(0).meta({ description: 'Index of the tool call; join `arguments` by it.' }),
  id: z.string().optional().meta({ description: 'In the first part of a call.' }),
  type: z.literal('function').optional().meta({ description: 'In the first part of a call.' }),
  function: z
    .strictObject({
      name: z.string().optional().meta({ description: 'In the first part of a call.' }),
      arguments: z.string().optional().meta({ description: 'The next piece of the arguments’ JSON.' }),
    })
    .optional(),
});

const deltaSchema = z
  .strictObject({
    role: z.literal('assistant').optional().meta({ description: 'In the first chunk.' }),
    content: z.string().nullable().optional().meta({ description: 'The next piece of the text.' }),
    refusal: z.string().nullable().optional(),
    tool_calls: z.array(toolCallDeltaSchema).optional(),
    ...reasoningFields,
  })
  .meta({ description: 'The new part.' });

const chunkChoiceSchema = z.strictObject({
  index: z.literal(0).meta({ description: 'There is one choice.' }),
  delta: deltaSchema,
  logprobs: logprobsField,
  finish_reason: finishReasonSchema.nullable().meta({ description: 'Null until the last chunk of the choice.' }),
});

/** One event of a streamed chat. */
export const chatChunkSchema = z
  .strictObject({
    ...answerFields,
    object: z.literal('chat.completion.chunk'),
    choices: z.array(chunkChoiceSchema).max(1).meta({ description: 'One choice; none in the usage chunk.' }),
    usage: chunkUsageField,
  })
  .meta({ title: 'Chat chunk', description: 'One event of a streamed chat.' });

export type ChatCompletion = z.infer<typeof chatCompletionSchema>;
export type ToolCall = z.infer<typeof toolCallSchema>;
export type ChatChunk = z.infer<typeof chatChunkSchema>;
export type ChatDelta = z.infer<typeof deltaSchema>;
