import { z } from 'zod';
import { defineCommand } from '../cli/command.ts';
import { displayName, instantToCome, keyId, modelIds, perMinute, usd, usdOfPeriod } from '../cli/fields.ts';
import { assertInCatalog } from '../stack/assertInCatalog.ts';
import { KEY_COLUMNS, toKeyDocument, toKeyRow, toShownKey } from '../stack/keyDetails.ts';

const FIELDS = ['name', 'rpm', 'tpm', 'budget', 'period-budget', 'models', 'expires'] as const;

/** A value, or the word that removes a limit, which becomes null. */
const orWord = <Schema extends z.ZodType>(word: string, schema: Schema) =>
  z.preprocess((text) => (text === word ? null : text), schema.nullable().optional());

export const updateKey = defineCommand({
  words: 'keys update',
  summary: 'change the name, limits, budgets, models or end of a key; what is not given stays',
  operands: { keyId: 'KEY_ID' },
  options: {
    name: { value: 'NAME', help: 'what people call the key' },
    rpm: { value: 'N', help: 'requests per minute' },
    tpm: { value: 'N', help: 'tokens per minute' },
    budget: { value: 'USD|none', help: 'the most it may ever spend, as in 12.5' },
    'period-budget': {
      value: 'USD/PERIOD|none',
      help: 'the most of each day, week from Monday or month, UTC, as in 12.5/day',
    },
    models: { value: 'ID,ID|all', help: 'the models that it may call' },
    expires: { value: 'DATE|never', help: 'when it ends: 2026-01-31 (UTC) or 2026-01-31T12:00Z' },
  },
  input: z
    .object({
      keyId,
      name: displayName.optional(),
      rpm: perMinute.optional(),
      tpm: perMinute.optional(),
      budget: orWord('none', usd),
      'period-budget': orWord('none', usdOfPeriod),
      models: orWord('all', modelIds),
      expires: orWord('never', instantToCome),
    })
    .refine((input) => FIELDS.some((field) => input[field] !== undefined), {
      path: [],
      message: `nothing to change is given: one of ${FIELDS.map((field) => `--${field}`).join(', ')} is wanted`,
    }),
  async run({ keyId: id, name, rpm, tpm, budget, 'period-budget': ofPeriod, models, expires }, { services, table }) {
    if (models) await assertInCatalog(models, services, 'the key was not changed');
    const body = {
      name,
      rpm,
      tpm,
      max_budget_nano_usd: budget === null ? null : budget?.toString(),
      period_budget: ofPeriod && { period: ofPeriod.period, max_nano_usd: ofPeriod.maxNanoUsd.toString() },
      allowed_models: models,
      expires_at: expires === null ? null : expires?.toISOString(),
    };
    const key = toShownKey(await services.auth.updateKey({ params: { key_id: id }, body }));
    return { document: toKeyDocument(key), text: table(KEY_COLUMNS, [toKeyRow(key)]) };
  },
});
