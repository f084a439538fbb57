import type { CatalogModel } from '@turnpike/internal-api/catalogSnapshot';

/** The model of `catalogText.ts`, but for its aliases; what a test is about it passes. */
export function aCatalogModel(fields: Partial<CatalogModel> = {}): CatalogModel {
  return {
    id: 'small-chat',
    name: 'Small Chat',
    huggingFaceId: 'example/Small-Chat',
    aliases: [],
    category: 'text',
    inputModalities: ['text'],
    outputModalities: ['text'],
    quantization: 'int4',
    contextLength: 8_192,
    maxOutputLength: 4_096,
    pricing: {
      prompt: '0.00000025',
      completion: '0.0000005',
      input_cache_read: '0.0000000025',
      request: '0',
      image: '0',
      web_search: '0',
      internal_reasoning: '0',
    },
    state: 'live',
    replacement: null,
    supportedFeatures: ['tools'],
    supportedParameters: ['max_tokens', 'temperature'],
    supportedSamplingParameters: ['temperature'],
    isCacheCapable: true,
    sharesPrefixCache: false,
    templateTokensPerMessage: 4,
    templateTokensPerRequest: 3,
    maxTokensPerImage: 0,
    createdAt: Date.UTC(2025, 0, 26) / 1_000,
    ...fields,
  };
}
