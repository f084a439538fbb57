import { z } from 'zod';
import { generationFields, optional } from './requestFields.ts';

export const completionRequestSchema = z
  .looseObject({
    ...generationFields,
    prompt: z
      .string({ error: ({ input }) => (input === undefined ? 'is required' : 'must be one text') })
      .min(1, 'must not be empty')
      .meta({
        description: 'The text to go on from.',
        support: 'partial',
        note: 'One text; lists and token ids are 400.',
      }),
    // Prompt too, for the engines that take it.
    suffix: optional(z.string()).meta({
      description: 'What shall come after the answer, on models that fill in.',
      support: 'partial',
      note: 'On engines that take it.',
    }),
    // Engines read it here as well; its forms are checked on chat alone.
    response_format: optional(z.never('is not supported here: use chat completions')).meta({
      description: 'Not supported here.',
      support: 'no',
      note: '400; chat completions have it.',
    }),
  })
  .meta({
    title: 'Text completion request',
    description:
      'Legacy: chat is preferred. Fields that are not listed go to the serving engine, which takes, ignores or refuses them.',
  });
