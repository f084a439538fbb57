import * as z from 'zod/mini';
import { count, defineRoutes } from './consoleRoute.ts';

const texts = z.array(z.string());
/** USD as a decimal text. */
const price = z.string();
/** A model, as `GET /v1/models` lists it. */
const modelSchema = z.object({
  id: z.string(),
  object: z.literal('model'),
  created: count,
  owned_by: z.string(),
  hugging_face_id: z.string(),
  aliases: texts,
  name: z.string(),
  category: z.string(),
  input_modalities: texts,
  output_modalities: texts,
  quantization: z.string(),
  context_length: count,
  max_output_length: count,
  pricing: z.object({
    prompt: price,
    completion: price,
    input_cache_read: price,
    request: price,
    image: price,
    web_search: price,
    internal_reasoning: price,
  }),
  billing_unit: z.optional(z.string()),
  unit_price: z.optional(z.nullable(price)),
  capabilities: z.optional(
    z.object({
      sizes: z.optional(texts),
      seconds: z.optional(z.array(count)),
      fps: z.optional(count),
      steps: z.optional(count),
      voices: z.optional(texts),
      voice_aliases: z.optional(z.record(z.string(), z.string())),
      output_formats: z.optional(texts),
      max_images: z.optional(count),
      languages: z.optional(texts),
      max_minutes: z.optional(count),
      timestamps: z.optional(texts),
    }),
  ),
  is_free: z.boolean(),
  is_ready: z.boolean(),
  supported_features: texts,
  supported_parameters: texts,
  supported_sampling_parameters: texts,
  supported_endpoints: z.optional(texts),
});

/** The models of the region. */
export const modelsConsoleApi = defineRoutes('catalog', {
  listModels: {
    access: 'public',
    method: 'GET',
    path: '/console/models',
    maxAgeSeconds: 10,
    promise: 'Lists the models of the region with prices, windows and capabilities.',
    answer: z.object({ models: z.array(modelSchema) }),
    faults: {
      router_unreachable: {
        status: 503,
        message: 'The region does not know yet which models it serves. Retry in 1 s.',
        retryAfterSeconds: 1,
      },
    },
  },
});
