import { z } from 'zod';

/** A field for which an explicit null is absence. */
export const nullish = <Schema extends z.ZodType>(schema: Schema) =>
  schema.nullish().transform((value) => value ?? undefined);

const MAX_STOPS = 4;

/** The fields that chat and completions share. */
export const samplingFields = {
  max_tokens: nullish(z.int()),
  min_tokens: nullish(z.int()),
  n: nullish(z.int()),
  stop: nullish(z.union([z.string(), z.array(z.string()).max(MAX_STOPS)])),
  stream: nullish(z.boolean()),
  stream_options: nullish(
    z.object({ include_usage: nullish(z.boolean()), continuous_usage_stats: nullish(z.boolean()) }),
  ),
  temperature: nullish(z.number()),
  top_p: nullish(z.number()),
  presence_penalty: nullish(z.number()),
  frequency_penalty: nullish(z.number()),
  /** A number of 64 bits, read as the nearest double. Two large seeds may be equal here. */
  seed: nullish(z.number().refine((seed) => Number.isInteger(seed) && Math.abs(seed) <= 2 ** 63)),
  ignore_eos: nullish(z.boolean()),
  cache_salt: nullish(z.string()),
};

const samplingSchema = z.object(samplingFields);
/** All of them may be absent, as in an embedding. */
export type SamplingRequest = Partial<z.output<typeof samplingSchema>>;

export const stopStrings = ({ stop = [] }: SamplingRequest): string[] => (typeof stop === 'string' ? [stop] : stop);

/** The fields of a legacy completion that the simulator acts on; it ignores every other. Null is absence. */
export const completionRequestSchema = z.object({
  ...samplingFields,
  model: nullish(z.string()),
  /** One text. Several, and token ids, which vLLM takes as well, are refused. */
  prompt: z.string(),
  suffix: nullish(z.string()),
});
export type CompletionRequest = z.output<typeof completionRequestSchema>;
