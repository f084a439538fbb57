import { z } from 'zod';
import { currencyField, generatedAtField, instant, usdAmount } from './usdAmount.ts';

/** The body of an answer to `GET /v1/svc/key`. */
export const keyInformationSchema = z
  .strictObject({
    object: z.literal('key'),
    currency: currencyField,
    key_name: z
      .string()
      .regex(/^sk-\.\.\..{4}$/)
      .meta({
        description:
          '`sk-...` and the last four characters of the request’s secret, because a key has two during rotation; never the whole secret.',
      }),
    spend_usd: usdAmount.meta({ description: 'Total spend of the key.' }),
    max_budget_usd: usdAmount
      .nullable()
      .meta({ description: 'Maximum spend; null if the key has no limit of its own.' }),
    remaining_budget_usd: usdAmount
      .nullable()
      .meta({ description: '`max_budget_usd` less `spend_usd`, at least 0; null if there is no limit.' }),
    rate_limit: z.strictObject({
      rpm: z.int().min(1).meta({ description: 'Requests a minute.' }),
      tpm: z.int().min(1).meta({ description: 'Tokens a minute.' }),
    }),
    expires_at: instant
      .nullable()
      .meta({ description: 'When the key ends, or the secret of the request; null for never.' }),
    generated_at: generatedAtField,
  })
  .meta({ title: 'Key information', description: 'The calling key: its limits and what is left of its budget.' });

export type KeyInformation = z.infer<typeof keyInformationSchema>;
