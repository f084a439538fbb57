import { regionSchema } from '@turnpike/config/region';
import { type CatalogModel, priceSchema, pricingSchema } from '@turnpike/internal-api/catalogSnapshot';
import { modelEntrySchema } from '@turnpike/public-api/modelEntry';
import { z } from 'zod';

const { category, input_modalities, output_modalities, quantization, billing_unit, capabilities } =
  modelEntrySchema.shape;
const tokens = z.number().int('must be a whole number of tokens').min(1, 'must be at least 1 token');
const atMost = z.number().int().min(0);

const of = (description: string) => ({ description });

/** One model as people write it. What is left out is what most models are. Each field's description is in docs/catalog-file.md. */
const modelSchema = z.strictObject({
  id: z
    .string()
    .regex(/^[a-z0-9][a-z0-9._-]{0,95}$/, 'must be lower-case letters, digits, dots and dashes')
    .meta(of('Canonical id: the bare name, as requests use it. It never changes.')),
  name: z.string().min(1).meta(of('Name for people.')),
  hugging_face_id: z.string().meta(of('Where the weights are published. Empty if nowhere.')),
  aliases: z.array(z.string().min(1).max(96)).default([]).meta(of('Other names that requests may use.')),
  category: category.meta(
    of('Which operations serve the model. Models of images, audio and video are billed by `unit_price`.'),
  ),
  input_modalities: input_modalities.min(1).default(['text']).meta(of('What the model takes.')),
  output_modalities: output_modalities.min(1).default(['text']).meta(of('What the model makes.')),
  quantization: quantization.default('unknown').meta(of('Format of the weights that the engines serve.')),
  context_length: tokens.meta(
    of('Window in tokens, prompt and completion together. An engine with a smaller window bounds calls.'),
  ),
  max_output_length: tokens.meta(of('Most tokens of one answer.')),
  pricing: pricingSchema
    .optional()
    .meta(of('Prices of a model that is billed by tokens, which has to have them. USD each, as text in plain digits.')),
  billing_unit: billing_unit.meta(of('Unit of a media model’s price, which every media model has to name.')),
  unit_price: priceSchema
    .optional()
    .meta(of('USD for one `billing_unit`. A media model without it is listed and never runs.')),
  capabilities: capabilities.meta(of('Values that requests of a media model may choose from.')),
  state: z
    .enum(['live', 'disabled', 'retired'])
    .default('live')
    .meta(
      of('`live` is served. `disabled` answers 503. `retired` is unknown to clients, whose 404 names the replacement.'),
    ),
  replacement: z.string().optional().meta(of('Id of the model to use instead of a retired one.')),
  clearance: z
    .array(regionSchema)
    .min(1)
    .meta(of('Regions that the model is licensed for. In any other region the model does not exist.')),
  // Any other word is a typo and would switch something off.
  supported_features: z
    .array(z.enum(['tools', 'json_mode', 'json_schema', 'reasoning']))
    .default([])
    .meta(of('Features that requests may use. What is not listed is refused.')),
  supported_parameters: z.array(z.string()).meta(of('Parameters that the model list shows.')),
  supported_sampling_parameters: z.array(z.string()).meta(of('Sampling parameters that the model list shows.')),
  cache_capable: z
    .boolean()
    .default(true)
    .meta(of('Whether usage shows cached prompt tokens, which cost `input_cache_read`.')),
  shared_prefix_cache: z
    .boolean()
    .default(false)
    .meta(
      of(
        'Lets workspaces share what engines have cached. Quicker, but the speed of an answer shows what others asked.',
      ),
    ),
  template_tokens_per_message: atMost.meta(
    of('Most tokens that the chat template adds around one message. Too few: charges above holds.'),
  ),
  template_tokens_per_request: atMost.meta(of('Most tokens that the chat template adds around a whole conversation.')),
  max_tokens_per_image: atMost.default(0).meta(of('Most tokens that one image becomes. 0 if images are not taken.')),
  embedding_dimensions: z.number().int().min(1).optional().meta(of('Length of an embedding model’s vectors.')),
  created: z.iso.date().meta(of('Day of the model’s first appearance in the catalog.')),
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
