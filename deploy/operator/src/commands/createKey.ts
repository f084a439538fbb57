import { generateApiKey, toKeySha256 } from '@turnpike/api-keys/apiKey';
import { z } from 'zod';
import { defineCommand } from '../cli/command.ts';
import { displayName, instantToCome, modelIds, perMinute, usd, usdOfPeriod, workspaceId } from '../cli/fields.ts';
import { assertInCatalog } from '../stack/assertInCatalog.ts';

const DEFAULT_NAME = 'unnamed';

/** The key is made here: its hash and last four characters travel, the key itself is printed once. */
export const createKey = defineCommand({
  words: 'keys create',
  summary: 'make an API key and print it, once',
  options: {
    workspace: { value: 'WS', help: 'the workspace that pays' },
    name: { value: 'NAME', help: 'what people call the key' },
    rpm: { value: 'N', help: 'requests per minute, 600 if not given' },
    tpm: { value: 'N', help: 'tokens per minute, 1000000 if not given' },
    budget: { value: 'USD', help: 'the most it may ever spend, as in 12.5; no limit if not given' },
    'period-budget': {
      value: 'USD/PERIOD',
      help: 'the most of each day, week from Monday or month, UTC, as in 12.5/day',
    },
    models: { value: 'ID,ID', help: 'the models that it may call; all if not given' },
    expires: { value: 'DATE', help: 'when it ends: 2026-01-31 (UTC) or 2026-01-31T12:00Z; never if not given' },
  },
  input: z.object({
    workspace: workspaceId,
    name: displayName.default(DEFAULT_NAME),
    rpm: perMinute.optional(),
    tpm: perMinute.optional(),
    budget: usd.optional(),
    'period-budget': usdOfPeriod.optional(),
    models: modelIds.optional(),
    expires: instantToCome.optional(),
  }),
  async run({ workspace, name, rpm, tpm, budget, 'period-budget': ofPeriod, models, expires }, { services }) {
    if (models) await assertInCatalog(models, services, 'no key was made');
    const apiKey = generateApiKey();
    const body = {
      key_sha256: toKeySha256(apiKey),
      last_four: apiKey.slice(-4),
      name,
      workspace_id: workspace,
      rpm,
      tpm,
      max_budget_nano_usd: budget?.toString(),
      period_budget: ofPeriod && { period: ofPeriod.period, max_nano_usd: ofPeriod.maxNanoUsd.toString() },
      allowed_models: models,
      expires_at: expires?.toISOString(),
    };
    const { key_id: keyId } = await services.auth.createKey({ body });
    return {
      document: { key_id: keyId, api_key: apiKey, workspace_id: workspace, name },
      text: `Made ${keyId} for ${workspace}. This is the key; it is not shown again:\n\n  ${apiKey}`,
    };
  },
});
