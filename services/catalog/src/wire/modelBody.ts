import type { CatalogModel } from '@turnpike/internal-api/catalogSnapshot';
import { parsePrice } from '@turnpike/money/price';
import type { ModelEntry } from '@turnpike/public-api/modelEntry';
import { CHAT_API_PATHS, OPERATION_PATHS } from '@turnpike/public-api/operations';

const OWNER = 'turnpike';
const EMBEDDING_PATHS = [OPERATION_PATHS.embeddings];
const TEXT_PATHS = [
  OPERATION_PATHS.chat,
  CHAT_API_PATHS.responses,
  CHAT_API_PATHS.messages,
  OPERATION_PATHS.completions,
];

/** A model entry of `GET /v1/models`. */
export function toModelBody(model: CatalogModel, { isReady }: { isReady: boolean }): ModelEntry {
  return {
    id: model.id,
    object: 'model',
    created: model.createdAt,
    owned_by: OWNER,
    hugging_face_id: model.huggingFaceId,
    aliases: model.aliases,
    name: model.name,
    category: model.category,
    input_modalities: model.inputModalities,
    output_modalities: model.outputModalities,
    quantization: model.quantization,
    context_length: model.contextLength,
    max_output_length: model.maxOutputLength,
    pricing: model.pricing,
    ...toMediaBody(model),
    is_free: isFree(model),
    is_ready: isReady,
    supported_features: model.supportedFeatures.flatMap(toLabels),
    supported_parameters: model.supportedParameters,
    supported_sampling_parameters: model.supportedSamplingParameters,
    ...(!model.media && { supported_endpoints: model.category === 'embeddings' ? EMBEDDING_PATHS : TEXT_PATHS }),
  };
}

/** Tool support has two labels, of which readers of catalogs look for either. */
const toLabels = (feature: string): string[] => (feature === 'tools' ? ['tools', 'tool_use'] : [feature]);

/** Fields of a media model's entry beside the seven prices. */
function toMediaBody({ media }: CatalogModel): Pick<ModelEntry, 'billing_unit' | 'unit_price' | 'capabilities'> {
  if (!media) return {};
  const { sizes, seconds, fps, steps, voices, voiceAliases, languages, ...can } = media.capabilities;
  return {
    billing_unit: media.billingUnit,
    unit_price: media.unitPrice,
    capabilities: {
      sizes,
      seconds,
      fps,
      steps,
      voices,
      voice_aliases: voiceAliases,
      languages,
      output_formats: can.outputFormats,
      max_images: can.maxImages,
      max_minutes: can.maxMinutes,
      timestamps: can.timestamps,
    },
  };
}

/** A price that is not there is not 0. */
function isFree({ pricing, media }: CatalogModel): boolean {
  const prices = media ? [media.unitPrice] : Object.values(pricing);
  return prices.every((price) => price !== null && parsePrice(price) === 0n);
}
