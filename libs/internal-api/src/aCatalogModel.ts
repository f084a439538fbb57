import type { CatalogModel } from './catalogSnapshot.ts';

/** A live text model; what a test is about it passes. */
export function aCatalogModel(fields: Partial<CatalogModel> = {}): CatalogModel {
  return {
    id: 'small-chat',
    name: 'Small Chat',
    huggingFaceId: 'turnpike/small-chat',
    aliases: [],
    category: 'text',
    inputModalities: ['text'],
    outputModalities: ['text'],
    quantization: 'fp8',
    contextLength: 32_768,
    maxOutputLength: 16_384,
    pricing: {
      prompt: '0.0000001',
      completion: '0.0000004',
      input_cache_read: '0.00000005',
      request: '0',
      image: '0',
      web_search: '0',
      internal_reasoning: '0',
    },
    state: 'live',
    replacement: null,
    supportedFeatures: ['tools'],
    supportedParameters: [],
    supportedSamplingParameters: [],
    isCacheCapable: true,
    sharesPrefixCache: false,
    templateTokensPerMessage: 8,
    templateTokensPerRequest: 16,
    maxTokensPerImage: 0,
    createdAt: 1_790_000_000,
    ...fields,
  };
}
