import type { Region } from '@turnpike/config/region';
import type { DiscoveredModel } from './discoverModels.ts';
import { nameModels } from './nameModels.ts';

/** Window of a model whose engine does not report it: the least of today's small models. */
export const ASSUMED_CONTEXT_LENGTH = 8_192;
/** Longest alias in a catalog. */
const MAX_ALIAS_LENGTH = 96;

/** Invented prices above zero, so that holds, charges and rows show amounts: 0.10 in and 0.40 out a million. */
export const MADE_UP_PRICING = {
  prompt: '0.0000001',
  completion: '0.0000004',
  input_cache_read: '0.000000025',
  request: '0',
  image: '0',
  web_search: '0',
  internal_reasoning: '0',
};
/** Parameters of every engine with the public chat API. */
const SAMPLING = ['temperature', 'top_p', 'stop', 'seed', 'max_tokens'];
/** Upper bound for an image of usual size with today's encoders, but at most a quarter of the window. */
const TOKENS_PER_IMAGE = 4_096;
const EMBEDDING = {
  category: 'embeddings',
  output_modalities: ['embeddings'],
  max_output_length: 1,
  supported_parameters: ['encoding_format', 'user'],
  supported_sampling_parameters: [],
};
/** Upper bound for the tokens of chat templates, so that a hold covers unknown templates. */
const TEMPLATE_TOKENS_PER_MESSAGE = 16;
const TEMPLATE_TOKENS_PER_REQUEST = 64;

export interface EngineCatalog {
  /** The catalog service's file. JSON is YAML too. */
  fileText: string;
  /** Canonical id of each of the engines' own names. */
  idOf: Map<string, string>;
}

/**
 * Returns a catalog of the models of real engines, one entry a model for any number of engines, and the entries of
 * `others` unchanged. `today` is YYYY-MM-DD.
 */
export function toEngineCatalog(
  discovered: DiscoveredModel[],
  { region, today, others: otherEntries = [] }: { region: Region; today: string; others?: unknown[] },
): EngineCatalog {
  const byName = Map.groupBy(discovered, ({ servedName }) => servedName);
  const idOf = nameModels([...byName.keys()]);
  const models = [...byName].map(([servedName, replicas]) => {
    // A call may go to any replica, so the entry has the smallest window and the common features.
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
