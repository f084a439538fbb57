import { generateApiKey, toKeySha256 } from '@turnpike/api-keys/apiKey';
import { z } from 'zod';
import { type Command, defineCommand, defineList } from '../cli/command.ts';
import {
  displayName,
  instantToCome,
  keyId,
  modelIds,
  operand,
  option,
  perMinute,
  usd,
  usdOfPeriod,
  workspaceId,
} from '../cli/fields.ts';
import { DAY_MS, toDay, toUsdCell } from '../report/cells.ts';
import { tabulate, toFacts, withAmounts } from '../report/entries.ts';
import { formatTable } from '../report/formatTable.ts';
import { assertInCatalog } from '../stack/assertInCatalog.ts';
import { KEY_COLUMNS, toKeyDocument, toShownKey } from '../stack/keyDetails.ts';
import { readPages } from '../stack/readPages.ts';

const DEFAULT_NAME = 'unnamed';
/** The days whose usage `keys show` looks at, today among them. */
const DAYS = 31;
const CHANGEABLE = ['name', 'rpm', 'tpm', 'budget', 'period-budget', 'models', 'expires'] as const;

/** A value, or the word that removes a limit, which becomes null. */
const orWord = <Schema extends z.ZodType>(word: string, schema: Schema) =>
  z.preprocess((text) => (text === word ? null : text), schema.nullable().optional());

export const keyCommands: Command[] = [
  // The key is made here: its hash and last four characters travel, the key itself is printed once.
  defineCommand({
    words: 'keys create',
    summary: 'make an API key and print it, once',
    input: z.object({
      workspace: option('WS', 'the workspace that pays', workspaceId),
      name: option('NAME', 'what people call the key', displayName.default(DEFAULT_NAME)),
      rpm: option('N', 'requests per minute, 600 if not given', perMinute.optional()),
      tpm: option('N', 'tokens per minute, 1000000 if not given', perMinute.optional()),
      budget: option('USD', 'the most it may ever spend, as in 12.5; no limit if not given', usd.optional()),
      'period-budget': option(
        'USD/PERIOD',
        'the most of each day, week from Monday or month, UTC, as in 12.5/day',
        usdOfPeriod.optional(),
      ),
      models: option('ID,ID', 'the models that it may call; all if not given', modelIds.optional()),
      expires: option(
        'DATE',
        'when it ends: 2026-01-31 (UTC) or 2026-01-31T12:00Z; never if not given',
        instantToCome.optional(),
      ),
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
      const { key_id: id } = await services.auth.createKey({ body });
      return {
        document: { key_id: id, api_key: apiKey, workspace_id: workspace, name },
        text: `Made ${id} for ${workspace}. This is the key; it is not shown again:\n\n  ${apiKey}`,
      };
    },
  }),
  defineList({
    words: 'keys list',
    summary: 'the keys of a workspace, revoked and expired ones too',
    input: z.object({ workspace: option('WS', 'whose keys', workspaceId) }),
    name: 'keys',
    ifNone: ({ workspace }) => `${workspace} has no keys.`,
    async read({ workspace }, { services }) {
      const params = { workspace_id: workspace };
      const keys = await readPages('keys', (after) => services.auth.listKeys({ params: { ...params, after } }));
      return keys.map(toShownKey).sort((a, b) => a.created_at.localeCompare(b.created_at));
    },
    columns: KEY_COLUMNS,
    toDocument: toKeyDocument,
    about: ({ workspace }) => ({ workspace_id: workspace }),
  }),
  defineList({
    words: 'keys find',
    summary:
      'the keys, of whichever workspace, that end as one that a customer tells of: sk-...5Oeo, or its last four characters',
    input: z.object({
      // Only the last four characters count, also of a whole key, which customers should not send.
      lastFour: operand(
        'KEY',
        z
          .string()
          .regex(/^(sk-\S*)?[0-9A-Za-z]{4}$/, 'must end as the key does, as in sk-...5Oeo or 5Oeo')
          .transform((text) => text.slice(-4)),
      ),
    }),
    name: 'keys',
    ifNone: ({ lastFour }) => `No key ends in ${lastFour} here.`,
    async read({ lastFour }, { services }) {
      const params = { last_four: lastFour };
      const keys = await readPages('keys', (after) => services.auth.findKeys({ params: { ...params, after } }));
      return keys.map(toShownKey);
    },
    columns: { workspace: 'workspace_id', ...KEY_COLUMNS },
    toDocument: toKeyDocument,
  }),
  defineCommand({
    words: 'keys show',
    summary: `a key, and its calls, spend and last day of use within ${DAYS} days (UTC), by the calls that are recorded`,
    input: z.object({ keyId }),
    async run({ keyId: id }, { services }) {
      const now = Date.now();
      const range = { start: toDay(now - (DAYS - 1) * DAY_MS), end: toDay(now + DAY_MS), group_by: 'day' };
      const [details, { usage }] = await Promise.all([
        services.auth.getKey({ params: { key_id: id } }),
        services.ledger.getUsage({ params: { key_id: id, ...range } }),
      ]);
      const key = toShownKey(details);
      const calls = usage.reduce((sum, { requests }) => sum + requests, 0);
      const spent = usage.reduce((sum, { charge_nano_usd: charge }) => sum + charge, 0n);
      const lastUsed = usage.reduce<string | null>((last, { day = '' }) => (last && last > day ? last : day), null);
      return {
        document: {
          ...toKeyDocument(key),
          ...withAmounts({ since: range.start, calls, spent_nano_usd: spent, last_used_on: lastUsed }),
        },
        text: formatTable([
          ...toFacts(KEY_COLUMNS, key),
          ['workspace', key.workspace_id],
          [`calls since ${range.start}`, String(calls)],
          [`spent since ${range.start} USD`, toUsdCell(spent)],
          ['last used on', lastUsed ?? `not since ${range.start}`],
        ]),
      };
    },
  }),
  defineCommand({
    words: 'keys update',
    summary: 'change the name, limits, budgets, models or end of a key; what is not given stays',
    input: z
      .object({
        keyId,
        name: option('NAME', 'what people call the key', displayName.optional()),
        rpm: option('N', 'requests per minute', perMinute.optional()),
        tpm: option('N', 'tokens per minute', perMinute.optional()),
        budget: option('USD|none', 'the most it may ever spend, as in 12.5', orWord('none', usd)),
        'period-budget': option(
          'USD/PERIOD|none',
          'the most of each day, week from Monday or month, UTC, as in 12.5/day',
          orWord('none', usdOfPeriod),
        ),
        models: option('ID,ID|all', 'the models that it may call', orWord('all', modelIds)),
        expires: option(
          'DATE|never',
          'when it ends: 2026-01-31 (UTC) or 2026-01-31T12:00Z',
          orWord('never', instantToCome),
        ),
      })
      .refine((input) => CHANGEABLE.some((field) => input[field] !== undefined), {
        path: [],
        message: `nothing to change is given: one of ${CHANGEABLE.map((field) => `--${field}`).join(', ')} is wanted`,
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
      return { document: toKeyDocument(key), text: tabulate(table, KEY_COLUMNS, [key]) };
    },
  }),
];
