import { z } from 'zod';
import { answerFields, chunkUsageField, finishReasonSchema, logprobsField } from './generatedAnswer.ts';
import { tokenUsageSchema } from './tokenUsage.ts';

const choiceFields = {
  index: z.literal(0).meta({ description: 'There is one choice.' }),
  logprobs: logprobsField,
};

const choiceSchema = z.strictObject({
  ...choiceFields,
  text: z.string().meta({ description: 'What follows the prompt.' }),
  finish_reason: finishReasonSchema,
});

const chunkChoiceSchema = z.strictObject({
  ...choiceFields,
  text: z.string().meta({ description: 'The next piece of the text.' }),
  finish_reason: finishReasonSchema.nullable().meta({ description: 'Null until the last chunk of the choice.' }),
});

/** `POST /v1/completions`, unstreamed. */
export const textCompletionSchema = z
  .strictObject({
    ...answerFields,
    object: z.literal('text_completion'),
    choices: z.array(choiceSchema).length(1).meta({ description: 'One choice.' }),
    usage: tokenUsageSchema,
  })
  .meta({ title: 'Text completion', description: 'A whole legacy completion.' });

/** One event of a streamed legacy completion: the same object, with what is new in it. */
export const textChunkSchema = z
  .strictObject({
    ...answerFields,
    object: z.literal('text_completion'),
    choices: z.array(chunkChoiceSchema).max(1).meta({ description: 'One choice; none in the usage chunk.' }),
    usage: chunkUsageField,
  })
  .meta({ title: 'Text chunk', description: 'One event of a streamed legacy completion.' });

export type TextCompletion = z.infer<typeof textCompletionSchema>;
export type TextChunk = z.infer<typeof textChunkSchema>;
