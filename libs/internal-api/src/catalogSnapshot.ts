import { regionSchema } from '@turnpike/config/region';
import { parsePrice } from '@turnpike/money/price';
import { MEDIA_BILLING_UNITS } from '@turnpike/public-api/modality';
import { modelEntrySchema } from '@turnpike/public-api/modelEntry';
import { z } from 'zod';
import { modelId } from './fields.ts';

export const priceSchema = z.string().superRefine((text, context) => {
  try {
    parsePrice(text);
  } catch (error) {
    context.addIssue({ code: 'custom', message: error instanceof Error ? error.message : String(error) });
  }
});

/**
 * USD as decimal strings: per token, per `request`, per `image`, per `web_search`. `"0"` where nothing is charged. Strict, unlike
 * the model around it: whoever does not know a price would charge nothing for it, and goes on by the last version instead.
 */
export const pricingSchema = z.strictObject({
  prompt: priceSchema.meta({ description: 'Per prompt token.' }),
  completion: priceSchema.meta({ description: 'Per generated token.' }),
  input_cache_read: priceSchema.meta({ description: 'Per prompt token that was read from the cache.' }),
  request: priceSchema.meta({ description: 'Per request.' }),
  image: priceSchema.meta({ description: 'Per image.' }),
  web_search: priceSchema.meta({ description: 'Per search.' }),
  internal_reasoning: priceSchema.meta({ description: 'Per token of reasoning, beside `completion`.' }),
});

const { category, input_modalities, output_modalities, quantization, capabilities } = modelEntrySchema.shape;
const can = capabilities.unwrap().shape;
export type Category = z.output<typeof category>;

/**
 * One model of a region's catalog. `retired` models are kept so that a refused call can name the `replacement`. An
 * administrator has switched off `disabled` models. Models that are not cleared for the region are not in its snapshot.
 */
export const catalogModelSchema = z.object({
  id: modelId,
  name: z.string().min(1),
  huggingFaceId: z.string(),
  aliases: z.array(z.string().min(1).max(96)),
  category,
  inputModalities: input_modalities.min(1),
  outputModalities: output_modalities.min(1),
  quantization,
  contextLength: z.number().int().min(1),
  maxOutputLength: z.number().int().min(1),
  pricing: pricingSchema,
  state: z.enum(['live', 'disabled', 'retired']),
  /** Canonical id to use instead of a retired model. */
  replacement: z.string().nullable(),
  supportedFeatures: z.array(z.string()),
  supportedParameters: z.array(z.string()),
  supportedSamplingParameters: z.array(z.string()),
  /** Whether usage shows cached prompt tokens; both counts are 0 where it does not. */
  isCacheCapable: z.boolean(),
  /** Whether one workspace's prompt may be read from what an engine cached for another's. Versions from before it said so do not share. */
  sharesPrefixCache: z.boolean().default(false),
  /** Most tokens the engine's chat template adds around one message, and around a whole conversation. */
  templateTokensPerMessage: z.number().int().min(0),
  templateTokensPerRequest: z.number().int().min(0),
  /** Length of an embedding model's vectors; absent if the catalog does not state it. */
  embeddingDimensions: z.number().int().min(1).optional(),
  /** Most tokens one image becomes; 0 where images are not taken. */
  maxTokensPerImage: z.number().int().min(0),
  /** Unix seconds of the model's first appearance in the catalog. */
  createdAt: z.number().int(),
  /** Billing unit and capabilities of a model of images, audio or video. Absent for any other model. */
  media: z
    .object({
      billingUnit: z.enum(MEDIA_BILLING_UNITS),
      /** Null where it has none: it is not to be run, and is not free. */
      unitPrice: priceSchema.nullable(),
      capabilities: z.object({
        sizes: can.sizes,
        seconds: can.seconds,
        fps: can.fps,
        steps: can.steps,
        voices: can.voices,
        voiceAliases: can.voice_aliases,
        languages: can.languages,
        outputFormats: can.output_formats,
        maxImages: can.max_images,
        maxMinutes: can.max_minutes,
        /** Versions from before it was here: segments alone. */
        timestamps: can.timestamps,
      }),
    })
    .optional(),
});
export type CatalogModel = z.output<typeof catalogModelSchema>;

/** The catalog snapshot: one region's models under one version. Calls name the version they were charged by. */
export const catalogSnapshotSchema = z
  .object({
    version: z.number().int().min(1),
    region: regionSchema,
    models: z.array(catalogModelSchema),
  })
  .meta({ id: 'CatalogSnapshot' });
export type CatalogSnapshot = z.output<typeof catalogSnapshotSchema>;
