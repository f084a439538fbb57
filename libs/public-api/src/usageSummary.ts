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
      'Of media, in what their models are billed by (`billing_unit`). Null for text, which is counted in tokens, and where calls were billed by different units.',
  }),
  total_spend: usdAmount.meta({
    description: 'The sum of the calls’ charges, to the nano-dollar: of text, that of the records’ `total_spend`.',
  }),
};

const groupSchema = z.strictObject({
  model: z.string().optional().meta({ description: 'Catalog id; where `group_by` names it.' }),
  day: z.iso.date().optional().meta({ description: 'UTC day; where `group_by` names it.' }),
  hour: instant.optional().meta({ description: 'Start of the hour, UTC; where `group_by` names it.' }),
  modality: z.enum(MODALITIES).optional().meta({ description: 'Where `group_by` names it.' }),
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
