import { queryOptions } from '@tanstack/react-query';
import { callHost } from '@turnpike/console-api/callRoute';
import { modelsConsoleApi } from '@turnpike/console-api/console/models';
import { parsePrice, type TextPrices } from '@turnpike/money/price';
import { MEDIA_BILLING_UNITS, type MediaBillingUnit } from '@turnpike/public-api/modality';
import type * as z from 'zod/mini';

const { routes } = modelsConsoleApi;
export type Model = z.output<typeof routes.listModels.answer>['models'][number];

/** The models of a region, which its console host shows to everyone. */
export const modelsQuery = (consoleUrl: string) =>
  queryOptions({
    queryKey: ['models', consoleUrl],
    queryFn: async () => (await callHost({ url: consoleUrl }, routes.listModels)).models,
  });

/** Kinds of models by the call that they serve. */
export type Kind = 'chat' | 'embeddings' | 'images' | 'videos' | 'speech' | 'transcripts';

/** Returns the kind of a model. An unknown category counts as chat. */
export function kindOf({ category, output_modalities: output }: Model): Kind {
  switch (category) {
    case 'embeddings':
      return 'embeddings';
    case 'image':
      return 'images';
    case 'video':
      return 'videos';
    case 'audio':
      return output.includes('audio') ? 'speech' : 'transcripts';
    default:
      return 'chat';
  }
}

/** Lists the chat models that can be called now, the cheapest first. */
export const listChatModels = (models: Model[]): Model[] =>
  models
    .filter((model) => kindOf(model) === 'chat' && model.is_ready)
    .sort((a, b) => (priceOfBoth(a) < priceOfBoth(b) ? -1 : 1));

const priceOfBoth = ({ pricing }: Model): bigint => parsePrice(pricing.prompt) + parsePrice(pricing.completion);

/** Returns the prices of tokens by which the services charge a call. */
export const toTextPrices = ({ pricing }: Model): TextPrices => ({
  prompt: parsePrice(pricing.prompt),
  completion: parsePrice(pricing.completion),
  inputCacheRead: parsePrice(pricing.input_cache_read),
  request: parsePrice(pricing.request),
  image: parsePrice(pricing.image),
});

/** Returns the billing unit of a media model, or undefined for a text model and an unknown unit. */
export const mediaUnitOf = ({ billing_unit: unit }: Model): MediaBillingUnit | undefined =>
  MEDIA_BILLING_UNITS.find((known) => known === unit);
