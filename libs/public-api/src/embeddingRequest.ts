import { z } from 'zod';
import { foreignFields, optional } from './requestFields.ts';

const MAX_INPUTS = 2_048;

export const embeddingRequestSchema = z
  .looseObject({
    model: z
      .string()
      .min(1, 'must name a model')
      .meta({ description: 'A model of category `embeddings`, by any of its names.' }),
    input: z
      .union([z.string().min(1), z.array(z.string().min(1)).min(1).max(MAX_INPUTS)], {
        error: (issue) =>
          issue.input === undefined
            ? 'is required'
            : `must be a text or a list of 1 to ${MAX_INPUTS} texts, none empty`,
      })
      .meta({
        description: 'The text to embed, or a list of texts.',
        support: 'partial',
        note: 'Texts; token ids are 400.',
      }),
    // Engines take a conversation in place of the input, and would fetch the images in it.
    messages: optional(z.never('is not supported: send texts as input')).meta({
      description: 'Not supported.',
      support: 'no',
      note: '400.',
    }),
    // Explicit null is invalid here, and only here.
    encoding_format: z.enum(['float', 'base64'], 'must be float or base64, or left out').optional().meta({
      description: '`float` unless given: a list of numbers. `base64`: packed little-endian 32-bit floats. Never null.',
      note: 'Explicit null is 400.',
    }),
    dimensions: optional(z.number().int().min(1)).meta({
      description:
        'Length of the vectors: the model’s own, or a shorter one where the model has `dimensions` among its `supported_parameters`.',
      support: 'partial',
      note: 'The model’s own length, or another one if the model can.',
    }),
    user: optional(z.string()).meta({
      description: 'The end user’s id at the client.',
      note: 'Accepted and not passed to engines.',
    }),
    ...foreignFields,
  })
  .meta({
    title: 'Embedding request',
    description:
      'Texts to embed. Fields that are not listed go to the serving engine, which takes, ignores or refuses them.',
  });
