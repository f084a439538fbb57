import { z } from 'zod';
import { nullish } from './samplingFields.ts';

/** The fields of an embedding request that the simulator acts on. A null `encoding_format` is a mistake, not absence. */
export const embeddingRequestSchema = z.object({
  model: nullish(z.string()),
  /** One text or several. Token ids, which vLLM takes as well, are refused. */
  input: z.union([z.string(), z.array(z.string()).min(1)]),
  encoding_format: z.enum(['float', 'base64']).default('float'),
  dimensions: nullish(z.int()),
});
export type EmbeddingRequest = z.output<typeof embeddingRequestSchema>;

/** The body of an answer; both formats carry the same float32 values, base64 as their bytes, least significant first. */
export function toEmbeddingList(
  { id, createdAtSeconds, model }: { id: string; createdAtSeconds: number; model: string },
  vectors: readonly Float32Array[],
  { format, promptTokens }: { format: EmbeddingRequest['encoding_format']; promptTokens: number },
): object {
  return {
    id,
    object: 'list',
    created: createdAtSeconds,
    model,
    data: vectors.map((vector, index) => ({
      index,
      object: 'embedding',
      embedding: format === 'float' ? [...vector] : toBase64(vector),
    })),
    usage: {
      prompt_tokens: promptTokens,
      total_tokens: promptTokens,
      completion_tokens: 0,
      prompt_tokens_details: null,
      completion_tokens_details: null,
    },
  };
}

function toBase64(vector: Float32Array): string {
  const bytes = Buffer.alloc(vector.length * Float32Array.BYTES_PER_ELEMENT);
  for (const [index, value] of vector.entries()) bytes.writeFloatLE(value, index * Float32Array.BYTES_PER_ELEMENT);
  return bytes.toString('base64');
}
