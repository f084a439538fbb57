import type { Region } from '@turnpike/config/region';
import type { DiscoveredModel } from './discoverModels.ts';
import { nameModels } from './nameModels.ts';

/** The window of a model whose engine does not say: what the small ones of today have at least. */
export const ASSUMED_CONTEXT_LENGTH = 8_192;
/** Longest alias that the catalog takes. */
const MAX_ALIAS_LENGTH = 96;

/** Made up, and not zero, so that a call's way through holds, charges and rows can be seen: 0.10 in and 0.40 out a million. */
export const MADE_UP_PRICING = {
  prompt: '0.0000001',
  completion: '0.0000004',
  input_cache_read: '0.000000025',
  request: '0',
  image: '0',
  web_search: '0',
  internal_reasoning: '0',
};
/** Parameters that every engine of the public chat API knows. */
const SAMPLING = ['temperature', 'top_p', 'stop', 'seed', 'max_tokens'];
/** More than an image of usual size comes to with the encoders in use, but never more than a quarter of the window. */
const TOKENS_PER_IMAGE = 4_096;
const EMBEDDING = {
  category: 'embeddings',
  output_modalities: ['embeddings'],
  max_output_length: 1,
  supported_parameters: ['encoding_format', 'user'],
  supported_sampling_parameters: [],
};
/** More than the chat templates in use add: a hold must not fall short because of a template nobody has looked at. */
const TEMPLATE_TOKENS_PER_MESSAGE = 16;
const TEMPLATE_TOKENS_PER_REQUEST = 64;

export interface EngineCatalog {
  /** The file that the catalog service reads. JSON is YAML too. */
  fileText: string;
  /** Canonical id of each of the engines' own names. */
  idOf: Map<string, string>;
}

/**
 * The catalog of what real engines serve, one entry a model, whatever number of them serves it, and the entries of `others` as they are.
 * `today` as YYYY-MM-DD.
 */
export function toEngineCatalog(
  discovered: DiscoveredModel[],
  { region, today, others: otherEntries = [] }: { region: Region; today: string; others?: unknown[] },
): EngineCatalog {
  const byName = Map.groupBy(discovered, ({ servedName }) => servedName);
  const idOf = nameModels([...byName.keys()]);
  const models = [...byName].map(([servedName, replicas]) => {
    // A call may go to any replica, so it has to fit the smallest one and ask for what all of them can do.
    const contextLength = Math.min(...replicas.map((replica) => replica.contextLength ?? ASSUMED_CONTEXT_LENGTH));
    const [first, ...others] = replicas;
    const features = first?.features.filter((feature) => others.every((other) => other.features.includes(feature)));
    const hasTools = features?.includes('tools');
    const takesImages = replicas.every(({ category }) => category === 'multimodal');
    const isNamedOtherwise = idOf.get(servedName) !== servedName;
    return {
      id: idOf.get(servedName),
      name: servedName,
      hugging_face_id: servedName,
      aliases: isNamedOtherwise && servedName.length <= MAX_ALIAS_LENGTH ? [servedName] : [],
      category: 'text',
      context_length: contextLength,
      // Leaves the other half to a prompt, also where the engine cannot count one.
      max_output_length: Math.ceil(contextLength / 2),
      pricing: MADE_UP_PRICING,
      clearance: [region],
      supported_features: features,
      supported_parameters: [
        ...SAMPLING,
        'max_completion_tokens',
        ...(hasTools ? ['tools', 'tool_choice'] : []),
        'stream',
        'user',
      ],
      supported_sampling_parameters: SAMPLING,
      template_tokens_per_message: TEMPLATE_TOKENS_PER_MESSAGE,
      template_tokens_per_request: TEMPLATE_TOKENS_PER_REQUEST,
      created: today,
      ...(takesImages && {
        category: 'multimodal',
        input_modalities: ['text', 'image'],
        max_tokens_per_image: Math.max(1, Math.min(TOKENS_PER_IMAGE, Math.floor(contextLength / 4))),
      }),
      ...(first?.category === 'embeddings' && EMBEDDING),
    };
  });
  return { fileText: `${JSON.stringify({ region, models: [...models, ...otherEntries] }, null, 2)}\n`, idOf };
}
