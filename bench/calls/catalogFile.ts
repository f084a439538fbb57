import { MADE_UP_PRICING } from '@turnpike/local-stack/engines/toEngineCatalog';
import { EMBEDDING_MODEL, MODEL } from './wire.ts';

/** The models of the raw engine as a catalog: one that chats and looks at images, and one of embeddings. JSON is YAML too. */
export function toCatalogFile(): string {
  const common = {
    context_length: 1_048_576,
    pricing: MADE_UP_PRICING,
    clearance: ['us'],
    template_tokens_per_message: 4,
    template_tokens_per_request: 3,
    created: '2026-01-01',
  };
  const models = [
    {
      ...common,
      id: MODEL,
      name: 'Bench',
      hugging_face_id: `bench/${MODEL}`,
      category: 'multimodal',
      input_modalities: ['text', 'image'],
      max_output_length: 16_384,
      supported_features: ['json_mode'],
      supported_parameters: ['max_tokens', 'stream', 'user'],
      supported_sampling_parameters: ['max_tokens'],
      max_tokens_per_image: 2_048,
    },
    {
      ...common,
      id: EMBEDDING_MODEL,
      name: 'Bench embedding',
      hugging_face_id: `bench/${EMBEDDING_MODEL}`,
      category: 'embeddings',
      output_modalities: ['embeddings'],
      max_output_length: 1,
      supported_features: [],
      supported_parameters: ['encoding_format', 'user'],
      supported_sampling_parameters: [],
    },
  ];
  return `${JSON.stringify({ region: 'us', models }, null, 2)}\n`;
}
