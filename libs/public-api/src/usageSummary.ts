import { z } from 'zod';
import { MODALITIES } from './modality.ts';
import { tokenCount } from './tokenUsage.ts';
import { currencyField, generatedAtField, instant, usdAmount } from './usdAmount.ts';

const callCount = z.int().min(0);

const sums = {
  requests: callCount.meta({ description: 'Calls that were admitted.' }),
  success: callCount,
  failure: callCount,
  unknown: callCount,
  prompt_tokens: tokenCount,
  completion_tokens: tokenCount,
  total_tokens: tokenCount,
  cache_read_input_tokens: tokenCount.meta({ description: 'Prompt tokens that were read from the cache.' }),
  units_consumed: z.number().min(0).nullable().meta({
    description:
      'Media units, in the model’s `billing_unit`. Null for text, which is counted in tokens, and for calls with different units.',
  }),
  total_spend: usdAmount.meta({
    description: 'The sum of the calls’ charges, to the nano-dollar: of text, that of the records’ `total_spend`.',
  }),
};

const groupSchema = z.strictObject({
  model: z.string().optional().meta({ description: 'Catalog id, if `group_by` has it.' }),
  day: z.iso.date().optional().meta({ description: 'UTC day, if `group_by` has it.' }),
  hour: instant.optional().meta({ description: 'Start of the hour in UTC, if `group_by` has it.' }),
  modality: z.enum(MODALITIES).optional().meta({ description: 'Present if `group_by` has it.' }),
  ...sums,
});

/** `GET /v1/svc/usage`: what the calling key used in a span of whole hours. */
export const usageSummarySchema = z
  .strictObject({
    object: z.literal('usage'),
    currency: currencyField,
    start: instant.meta({ description: 'First instant that counts.' }),
    end: instant.meta({ description: 'First instant that no longer does.' }),
    totals: z.strictObject(sums).meta({ description: 'Of the whole span.' }),
    data: z.array(groupSchema).meta({ description: 'One row for each group.' }),
    generated_at: generatedAtField,
  })
  .meta({ title: 'Usage summary', description: 'What the key used in a span of time, in all and by group.' });

export type UsageSummary = z.infer<typeof usageSummarySchema>;
