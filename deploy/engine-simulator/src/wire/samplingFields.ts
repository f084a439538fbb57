import { z } from 'zod';

/** A field for which an explicit null is absence. */
export const nullish = <Schema extends z.ZodType>(schema: Schema) =>
  schema.nullish().transform((value) => value ?? undefined);

/** The fields that chat and completions share. */
export const samplingFields = {
  max_tokens: nullish(z.int()),
  min_tokens: nullish(z.int()),
  n: nullish(z.int()),
  stop: nullish(z.union([z.string(), z.array(z.string())])),
  stream: nullish(z.boolean()),
  stream_options: nullish(
    z.object({ include_usage: nullish(z.boolean()), continuous_usage_stats: nullish(z.boolean()) }),
  ),
  temperature: nullish(z.number()),
  top_p: nullish(z.number()),
  presence_penalty: nullish(z.number()),
  frequency_penalty: nullish(z.number()),
  seed: nullish(z.int()),
  ignore_eos: nullish(z.boolean()),
  cache_salt: nullish(z.string()),
};

const samplingSchema = z.object(samplingFields);
/** All of them may be absent, as in an embedding. */
export type SamplingRequest = Partial<z.output<typeof samplingSchema>>;
