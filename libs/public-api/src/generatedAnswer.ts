import { z } from 'zod';
import { tokenUsageSchema } from './tokenUsage.ts';

/** Fields of every generated answer, whole or in chunks. */
export const answerFields = {
  id: z.string().meta({ description: 'The engine’s id of the response. For usage, use `x-router-call-id`.' }),
  created: z.int().min(0).meta({ description: 'Unix time in seconds.' }),
  model: z.string().meta({ description: 'Canonical id of the model, also if the request has an alias.' }),
};

export const finishReasonSchema = z
  .enum(['stop', 'length', 'tool_calls', 'content_filter', 'function_call'])
  .meta({ description: 'Why the output ended. `length`: the output limit, which is 2048 tokens on unstreamed chat.' });

/** Nothing else is ever in this place: a request for them is refused. */
export const logprobsField = z.null().meta({
  description: 'Always null.',
  support: 'no',
  note: 'Always null, because log probabilities are not available.',
});

/** `usage` of a chunk: only where the client asked for it, and then null on every chunk but the last. */
export const chunkUsageField = tokenUsageSchema.nullable().optional().meta({
  description:
    'Only with `stream_options.include_usage`: null, and the count in the last chunk, whose `choices` is empty.',
});

/** A thinking model's own text, under both of the names that clients read it by. */
export const reasoningFields = {
  reasoning: z
    .string()
    .optional()
    .meta({ description: 'The reasoning of a reasoning model. Absent if there is none.' }),
  reasoning_content: z
    .string()
    .optional()
    .meta({ description: 'The same text under its older name: read one of the two.' }),
};

export type FinishReason = z.infer<typeof finishReasonSchema>;
