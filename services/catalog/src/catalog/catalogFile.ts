import { regionSchema } from '@turnpike/config/region';
import { type CatalogModel, priceSchema, pricingSchema } from '@turnpike/internal-api/catalogSnapshot';
import { modelEntrySchema } from '@turnpike/public-api/modelEntry';
import { z } from 'zod';

const { category, input_modalities, output_modalities, quantization, billing_unit, capabilities } =
  modelEntrySchema.shape;
const tokens = z.number().int('must be a whole number of tokens').min(1, 'must be at least 1 token');
const atMost = z.number().int().min(0);

/** One model as people write it. What is left out is what most models are. */
const modelSchema = z.strictObject({
  id: z.string().regex(/^[a-z0-9][a-z0-9._-]{0,95}$/, 'must be lower-case letters, digits, dots and dashes'),
  name: z.string().min(1),
  hugging_face_id: z.string(),
  aliases: z.array(z.string().min(1).max(96)).default([]),
  category,
  input_modalities: input_modalities.min(1).default(['text']),
  output_modalities: output_modalities.min(1).default(['text']),
  quantization: quantization.default('unknown'),
  context_length: tokens,
  max_output_length: tokens,
  /** Prices of a model that is billed by tokens. */
  pricing: pricingSchema.optional(),
  /** Price of a media model. A media model without a price is listed and never runs. */
  billing_unit,
  unit_price: priceSchema.optional(),
  capabilities,
  state: z.enum(['live', 'disabled', 'retired']).default('live'),
  replacement: z.string().optional(),
  /** Regions the model is licensed for. In any other it does not exist. */
  clearance: z.array(regionSchema).min(1),
  /** Features that the router and readers of the list know. Any other word is a typo and would switch something off. */
  supported_features: z.array(z.enum(['tools', 'json_mode', 'json_schema', 'reasoning'])).default([]),
  supported_parameters: z.array(z.string()),
  supported_sampling_parameters: z.array(z.string()),
  cache_capable: z.boolean().default(true),
  /** Lets workspaces share what engines have cached: quicker, but by its speed an answer tells what others have asked. */
  shared_prefix_cache: z.boolean().default(false),
  template_tokens_per_message: atMost,
  template_tokens_per_request: atMost,
  max_tokens_per_image: atMost.default(0),
  /** The length of an embedding model's vectors. */
  embedding_dimensions: z.number().int().min(1).optional(),
  created: z.iso.date(),
});

type FileModel = z.output<typeof modelSchema>;

/** A catalog file by itself; whether its entries fit together is for `findContradictions`. */
export const catalogFileSchema = z.strictObject({ region: regionSchema, models: z.array(modelSchema).min(1) });
export type CatalogFile = z.output<typeof catalogFileSchema>;

/** The region's models as the fleet knows them. One that is not cleared for the region is left out altogether. */
export function toCatalogModels(file: CatalogFile): CatalogModel[] {
  return file.models
    .filter(({ clearance }) => clearance.includes(file.region))
    .map((model) => ({
      id: model.id,
      name: model.name,
      huggingFaceId: model.hugging_face_id,
      aliases: model.aliases,
      category: model.category,
      inputModalities: model.input_modalities,
      outputModalities: model.output_modalities,
      quantization: model.quantization,
      contextLength: model.context_length,
      maxOutputLength: model.max_output_length,
      ...toPrices(model),
      state: model.state,
      replacement: model.replacement ?? null,
      supportedFeatures: model.supported_features,
      supportedParameters: model.supported_parameters,
      supportedSamplingParameters: model.supported_sampling_parameters,
      isCacheCapable: model.cache_capable,
      sharesPrefixCache: model.shared_prefix_cache,
      templateTokensPerMessage: model.template_tokens_per_message,
      templateTokensPerRequest: model.template_tokens_per_request,
      maxTokensPerImage: model.max_tokens_per_image,
      embeddingDimensions: model.embedding_dimensions,
      createdAt: Date.parse(model.created) / 1_000,
    }));
}

const NO_PRICES = {
  prompt: '0',
  completion: '0',
  input_cache_read: '0',
  request: '0',
  image: '0',
  web_search: '0',
  internal_reasoning: '0',
};

/** Every engine of speech-to-text gives the times of segments; those of words are the engine's, so an operator names them. */
const DEFAULT_TIMESTAMPS = ['segment' as const];

/** A price of images stands among the seven prices as well, for readers that know those alone. */
function toPrices(model: FileModel): Pick<CatalogModel, 'pricing' | 'media'> {
  const { pricing = NO_PRICES, billing_unit: billingUnit, unit_price: unitPrice, capabilities = {} } = model;
  if (billingUnit === undefined) return { pricing };
  const { sizes, seconds, fps, steps, voices, languages, max_minutes, timestamps } = capabilities;
  return {
    pricing: billingUnit === 'image' ? { ...pricing, image: unitPrice ?? pricing.image } : pricing,
    media: {
      billingUnit,
      unitPrice: unitPrice ?? null,
      capabilities: {
        sizes,
        seconds,
        fps,
        steps,
        voices,
        voiceAliases: capabilities.voice_aliases,
        languages,
        outputFormats: capabilities.output_formats,
        maxImages: capabilities.max_images,
        maxMinutes: max_minutes,
        timestamps: max_minutes === undefined ? undefined : (timestamps ?? DEFAULT_TIMESTAMPS),
      },
    },
  };
}
