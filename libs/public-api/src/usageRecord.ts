import { z } from 'zod';
import { tokenCount } from './tokenUsage.ts';
import { currencyField, generatedAtField, instant, usdAmount } from './usdAmount.ts';

/** The body of an answer to `GET /v1/svc/usage/request/{request_id}`. */
export const usageRecordSchema = z
  .strictObject({
    object: z.literal('usage.request'),
    currency: currencyField,
    request_id: z.string().meta({ description: 'The `x-router-call-id` of the response.' }),
    model: z.string().meta({ description: 'Id of the routing target that served the call. It may change.' }),
    canonical_model: z.string().meta({ description: 'Id in the catalog, which does not change. Group by this one.' }),
    status: z.enum(['success', 'failure', 'unknown']).meta({
      description: 'How the call ended. Only `success` is charged. `unknown` may change to another one.',
    }),
    prompt_tokens: tokenCount,
    completion_tokens: tokenCount,
    total_tokens: tokenCount,
    total_spend: usdAmount.meta({ description: 'Cost of the call. The records of a key add up to its totals.' }),
    modality: z.literal('text'),
    units_consumed: z.number().min(0).nullable().meta({ description: 'Null for text, which is counted in tokens.' }),
    billing_unit: z.string().meta({ description: '`token` for text.' }),
    started_at: instant,
    ended_at: instant,
    generated_at: generatedAtField,
  })
  .meta({ title: 'Usage record', description: 'What one call used and cost.' });

export type UsageRecord = z.infer<typeof usageRecordSchema>;
