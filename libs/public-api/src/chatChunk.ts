import { z } from 'zod';
import {
  answerFields,
  chunkUsageField,
  finishReasonSchema,
  logprobsField,
  reasoningFields,
} from './generatedAnswer.ts';

const toolCallDeltaSchema = z.strictObject({
  index: z.int().min(0).meta({ description: 'Which call this belongs to: `arguments` are put together by it.' }),
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
  .meta({ description: 'What is new.' });

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

export type ChatChunk = z.infer<typeof chatChunkSchema>;
export type ChatDelta = z.infer<typeof deltaSchema>;
