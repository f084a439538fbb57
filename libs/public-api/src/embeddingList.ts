import { z } from 'zod';
import { tokenCount } from './tokenUsage.ts';
import { costField } from './usdAmount.ts';

const embeddingSchema = z.strictObject({
  object: z.literal('embedding'),
  index: z.int().min(0).meta({ description: 'Place of the text in `input`.' }),
  embedding: z.union([z.array(z.number()), z.string().meta({ contentEncoding: 'base64' })]).meta({
    description: 'Numbers; with `encoding_format` `base64` one text of packed little-endian 32-bit floats.',
  }),
});

/** The body of an answer to `POST /v1/embeddings`. */
export const embeddingListSchema = z
  .strictObject({
    object: z.literal('list'),
    data: z.array(embeddingSchema).meta({ description: 'One for each text, in the order of `input`.' }),
    model: z.string().meta({ description: 'Canonical id of the model.' }),
    usage: z.strictObject({
      prompt_tokens: tokenCount.meta({ description: 'Tokens of all texts.' }),
      total_tokens: tokenCount.meta({ description: 'The same number.' }),
      cost: costField,
    }),
  })
  .meta({ title: 'Embeddings', description: 'One vector for each text.' });

export type EmbeddingList = z.infer<typeof embeddingListSchema>;
