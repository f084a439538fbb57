import { z } from 'zod';
import { currencyField, generatedAtField, usdAmount } from './usdAmount.ts';

/** `GET /v1/svc/credit`: what the calling key can still spend. */
export const creditInformationSchema = z
  .strictObject({
    object: z.literal('credit'),
    currency: currencyField,
    scope: z.enum(['workspace', 'key_budget']).meta({
      description:
        '`key_budget` if the key has a budget of its own, which is then the only one shown; else `workspace`.',
    }),
    credit_usd: z.number().meta({
      description: 'The rest before holds. It is below 0 for a workspace after a disputed payment.',
    }),
    held_usd: usdAmount.meta({
      description: 'Maximum cost of the calls in progress. New calls have to fit into the rest.',
    }),
    month_spend_usd: usdAmount.nullable().meta({
      description: 'What the workspace has spent this month (UTC); null for `key_budget`.',
    }),
    monthly_cap_usd: usdAmount.nullable().meta({
      description: 'Maximum spend of the workspace a month; null if there is no cap, and for `key_budget`.',
    }),
    generated_at: generatedAtField,
  })
  .meta({ title: 'Credit', description: 'What the calling key can still spend.' });

export type CreditInformation = z.infer<typeof creditInformationSchema>;
