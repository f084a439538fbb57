import { z } from 'zod';
import { costField } from './usdAmount.ts';

/** A number of tokens. */
export const tokenCount = z.int().min(0);

/** The usage of a chat or a legacy completion, as the engine counted it. */
export const tokenUsageSchema = z
  .strictObject({
    prompt_tokens: tokenCount.meta({ description: 'Tokens of the prompt, cached ones included.' }),
    completion_tokens: tokenCount.meta({ description: 'Tokens generated, reasoning included.' }),
    total_tokens: tokenCount.meta({ description: 'The sum of both.' }),
    prompt_tokens_details: z
      .strictObject({
        cached_tokens: tokenCount.meta({ description: 'The same number as `cache_read_input_tokens`.' }),
      })
      .meta({ description: 'The public API’s field for cached tokens.' }),
    completion_tokens_details: z
      .strictObject({
        reasoning_tokens: tokenCount.meta({
          description: 'Reasoning tokens within `completion_tokens`; 0 if the engine does not count them.',
        }),
      })
      .meta({ description: 'The public API’s field for reasoning tokens.' }),
    cache_read_input_tokens: tokenCount.meta({
      description:
        'Prompt tokens read from the prefix cache and charged at `input_cache_read`; 0 on models without one.',
    }),
    cache_creation_input_tokens: tokenCount.meta({
      description: 'Prompt tokens that were not read from the cache; 0 on models without one.',
    }),
    cost: costField,
  })
  .meta({ title: 'Token usage', description: 'Usage of a call, as counted by the engine.' });

export type TokenUsage = z.infer<typeof tokenUsageSchema>;
