import { z } from 'zod';
import { MEDIA_BILLING_UNITS } from './modality.ts';

const price = z.string().regex(/^\d+(\.\d+)?$/);

const pricingSchema = z
  .strictObject({
    prompt: price.meta({ description: 'Per prompt token.' }),
    completion: price.meta({ description: 'Per generated token.' }),
    input_cache_read: price.meta({ description: 'Per prompt token that was read from the cache.' }),
    request: price.meta({ description: 'Per request.' }),
    image: price.meta({ description: 'Per image.' }),
    web_search: price.meta({ description: 'Per search.' }),
    internal_reasoning: price.meta({ description: 'Per token of reasoning, beside `completion`.' }),
  })
  .meta({ description: 'USD as decimal texts, never with an exponent; `0` if it is free.' });

const voice = z.string().min(1).max(64);
const TIMES = ['segment', 'word'];

/** Capabilities of a media model: the values that a request may choose from, and the largest allowed amounts. */
const capabilitiesSchema = z
  .strictObject({
    sizes: z
      .array(z.string().regex(/^[1-9]\d{0,4}x[1-9]\d{0,4}$/, 'must be a width and a height in pixels, as in 1024x1024'))
      .min(1)
      .optional()
      .meta({ description: 'Of images and videos: width and height in pixels.' }),
    seconds: z.array(z.int().min(1).max(3_600)).min(1).optional().meta({ description: 'Lengths of a video.' }),
    fps: z.int().min(1).max(120).optional().meta({ description: 'Frames a second of a video.' }),
    steps: z.int().min(1).max(200).optional().meta({ description: 'Rendering steps of a video.' }),
    voices: z.array(voice).min(1).optional().meta({ description: 'Of speech.' }),
    voice_aliases: z.record(voice, voice).optional().meta({
      description: 'Other names that requests may use, and the voice of each.',
    }),
    output_formats: z
      .array(z.enum(['png', 'jpeg', 'webp', 'mp3', 'opus', 'aac', 'flac', 'wav', 'pcm']))
      .min(1)
      .optional()
      .meta({ description: 'Of images and speech.' }),
    max_images: z.int().min(1).max(10).optional().meta({ description: 'Maximum images of one request.' }),
    languages: z
      .array(z.string().regex(/^[a-z]{2,3}$/, 'must be a code of two or three letters, as in en'))
      .min(1)
      .optional()
      .meta({ description: 'Allowed languages of audio files. Absent if they are not known here.' }),
    max_minutes: z.int().min(1).max(1_440).optional().meta({ description: 'Longest audio file that is transcribed.' }),
    timestamps: z
      .array(z.enum(['segment', 'word']))
      .max(2)
      .refine(
        (times) => times.every((time, index) => time === TIMES[index]),
        'must be [], [segment] or [segment, word]',
      )
      .optional()
      .meta({ description: 'Parts of a transcript that have times: none, `segment`, or `segment` and `word`.' }),
  })
  .meta({ description: 'Abilities of the model. For image, audio and video models.' });

/** An element of the model list. */
export const modelEntrySchema = z
  .strictObject({
    id: z.string().meta({ description: 'Canonical id: the bare name, as requests use it.' }),
    object: z.literal('model'),
    created: z.int().min(0).meta({ description: 'Unix time in seconds of its first appearance here.' }),
    owned_by: z.literal('turnpike').meta({ description: 'Always the name of this service.' }),
    hugging_face_id: z.string().meta({ description: 'Where its weights are published; empty if they are not.' }),
    aliases: z.array(z.string()).meta({ description: 'Other names that requests may use.' }),
    name: z.string().meta({ description: 'For people.' }),
    category: z
      .enum(['text', 'code', 'reasoning', 'multimodal', 'embeddings', 'image', 'audio', 'video'])
      .meta({ description: 'Selects the operation that serves the model.' }),
    input_modalities: z.array(z.enum(['text', 'image', 'audio', 'video', 'file'])),
    output_modalities: z.array(z.enum(['text', 'image', 'audio', 'video', 'embeddings'])),
    quantization: z.enum(['int4', 'int8', 'fp4', 'fp6', 'fp8', 'fp16', 'bf16', 'fp32', 'unknown']),
    context_length: z.int().min(1).meta({ description: 'Window in tokens, prompt and completion together.' }),
    max_output_length: z.int().min(1).meta({ description: 'Maximum tokens of one response.' }),
    pricing: pricingSchema,
    billing_unit: z
      .enum(MEDIA_BILLING_UNITS)
      .optional()
      .meta({ description: 'Unit of `unit_price`. For image, audio and video models.' }),
    unit_price: price.nullable().optional().meta({
      description:
        'USD for one `billing_unit`; null while there is no price, and then a call is 500 `pricing_unavailable`.',
    }),
    capabilities: capabilitiesSchema.optional(),
    is_free: z.boolean().meta({ description: 'Whether every price is 0, `unit_price` among them.' }),
    is_ready: z.boolean().meta({ description: 'Whether it can be called now; if not, calls get 503.' }),
    supported_features: z
      .array(z.string())
      .meta({ description: '`tools`, and `tool_use` with it, for tool calls, `json_schema` for such formats.' }),
    supported_parameters: z.array(z.string()).meta({ description: 'Request fields that the model uses.' }),
    supported_sampling_parameters: z.array(z.string()).meta({ description: 'Sampling parameters among them.' }),
    supported_endpoints: z.array(z.string()).optional().meta({
      description: 'Paths that serve it. For models of text and embeddings.',
    }),
  })
  .meta({ title: 'Model', description: 'One live model of the region that was called.' });

/** `GET /v1/models`. */
export const modelListSchema = z
  .strictObject({
    object: z.literal('list'),
    data: z.array(modelEntrySchema).meta({ description: 'Every live model, across all modalities.' }),
  })
  .meta({ title: 'Model list', description: 'What the called region serves: the authoritative list.' });

export type ModelEntry = z.infer<typeof modelEntrySchema>;
export type ModelList = z.infer<typeof modelListSchema>;
