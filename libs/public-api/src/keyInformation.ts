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
          '`sk-...` and the last four characters of the secret that asks, as a key has two while it is rotated; never the key.',
      }),
    spend_usd: usdAmount.meta({ description: 'All that the key has spent.' }),
    max_budget_usd: usdAmount.nullable().meta({ description: 'The most it may spend; null: no ceiling of its own.' }),
    remaining_budget_usd: usdAmount
      .nullable()
      .meta({ description: '`max_budget_usd` less `spend_usd`, at least 0; null where there is no ceiling.' }),
    rate_limit: z.strictObject({
      rpm: z.int().min(1).meta({ description: 'Requests a minute.' }),
      tpm: z.int().min(1).meta({ description: 'Tokens a minute.' }),
    }),
    expires_at: instant.nullable().meta({ description: 'When the key ends, or the secret that asks; null: never.' }),
    generated_at: generatedAtField,
  })
  .meta({ title: 'Key information', description: 'The calling key: its limits and what is left of its budget.' });

export type KeyInformation = z.infer<typeof keyInformationSchema>;
