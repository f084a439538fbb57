import { z } from 'zod';
import { currencyField, generatedAtField, usdAmount } from './usdAmount.ts';

/** `GET /v1/svc/credit`: what the calling key can still spend. */
export const creditInformationSchema = z
  .strictObject({
    object: z.literal('credit'),
    currency: currencyField,
    scope: z.enum(['workspace', 'key_budget']).meta({
      description:
        '`key_budget` if the key has a budget of its own, which is then all that is shown; else `workspace`.',
    }),
    credit_usd: z.number().meta({
      description: 'What is left, before holds; a workspace’s is below 0 after a disputed payment.',
    }),
    held_usd: usdAmount.meta({ description: 'The worst case of the calls under way. New calls fit into the rest.' }),
    month_spend_usd: usdAmount.nullable().meta({
      description: 'What the workspace has spent this month (UTC); null for `key_budget`.',
    }),
    monthly_cap_usd: usdAmount.nullable().meta({
      description: 'The most that the workspace may spend a month; null where there is no cap, and for `key_budget`.',
    }),
    generated_at: generatedAtField,
  })
  .meta({ title: 'Credit', description: 'What the calling key can still spend.' });

export type CreditInformation = z.infer<typeof creditInformationSchema>;
