import { USAGE_GROUPS, type UsageGrouping } from '@turnpike/internal-api/usageLedger';
import { z } from 'zod';
import { defineCommand } from '../cli/command.ts';
import { day, keyId, option, workspaceId } from '../cli/fields.ts';
import { DAY_MS, toDay } from '../report/cells.ts';
import { tabulate, withAmounts } from '../report/entries.ts';
import type { Services } from '../stack/createServices.ts';

type Entry = Awaited<ReturnType<Services['ledger']['getUsage']>>['usage'][number];

const COUNTS = [
  'requests',
  'success',
  'failure',
  'unknown',
  'prompt_tokens',
  'cached_prompt_tokens',
  'completion_tokens',
] as const;
const COLUMNS = {
  requests: 'requests',
  success: 'success',
  failure: 'failure',
  unknown: 'unknown',
  prompt: 'prompt_tokens',
  cached: 'cached_prompt_tokens',
  completion: 'completion_tokens',
  'charge USD': 'charge_nano_usd',
} as const;
/** The grouping of entries, and the field that names it. */
const FIELDS = { day: 'day', key: 'key_id', model: 'model' } as const satisfies Record<UsageGrouping, keyof Entry>;
const GROUPING = new RegExp(`^(${USAGE_GROUPS.join('|')})(,(${USAGE_GROUPS.join('|')}))*$`);

const today = (): string => toDay(Date.now());

export const showUsage = defineCommand({
  words: 'usage',
  summary: 'what a key, or every key of a workspace, used by day (UTC), key or model, by the calls that are recorded',
  input: z
    .object({
      key: option('KEY_ID', 'one key', keyId.optional()),
      workspace: option('WS', 'every key of a workspace', workspaceId.optional()),
      from: option(
        'DAY',
        'the first day, as in 2026-01-31; the first of this month if not given',
        day.default(() => `${today().slice(0, 7)}-01`),
      ),
      to: option('DAY', 'the last day, which is counted in; today if not given', day.default(today)),
      by: option(
        'GROUPS',
        'day, key or model, or several of them, as in model,day; day,key if not given',
        z
          .string()
          .regex(GROUPING, 'must be day, key or model, or several of them with commas between')
          .default('day,key'),
      ),
    })
    .refine(({ key, workspace }) => (key === undefined) !== (workspace === undefined), 'give --key or --workspace')
    .refine(({ from, to }) => from <= to, {
      path: ['from'],
      message: 'must not be after --to, which is today if not given',
    }),
  async run({ key, workspace, from, to, by }, { services, table }) {
    const owner = key === undefined ? { workspace_id: workspace ?? '' } : { key_id: key };
    const params = { ...owner, start: from, end: toDay(Date.parse(to) + DAY_MS), group_by: by };
    const groups = USAGE_GROUPS.filter((group) => by.split(',').includes(group));
    const [{ usage }] = await Promise.all([services.ledger.getUsage({ params }), expectOwner(services, owner)]);
    const totals = sumUp(usage);
    const titled = { ...totals, ...Object.fromEntries(groups.map((group) => [FIELDS[group], ''])) };
    const [first] = groups;
    const rows = [...usage, { ...titled, ...(first && { [FIELDS[first]]: 'total' }) }];
    const columns = { ...Object.fromEntries(groups.map((group) => [group, FIELDS[group]])), ...COLUMNS };
    return {
      document: { ...owner, from, to, usage: usage.map(withAmounts), totals: withAmounts(totals) },
      text: usage.length > 0 ? tabulate(table, columns, rows) : `Nothing is recorded from ${from} to ${to}.`,
    };
  },
});

/** Throws where there is none: the ledger would know of no calls, as it does of one that made none. */
async function expectOwner({ auth }: Services, owner: { key_id: string } | { workspace_id: string }): Promise<void> {
  if ('workspace_id' in owner) await auth.getWorkspace({ params: owner });
  else await auth.getKey({ params: owner });
}

function sumUp(usage: Entry[]): Omit<Entry, 'key_id' | 'day' | 'model'> {
  const counts = COUNTS.map((count) => [count, usage.reduce((sum, entry) => sum + entry[count], 0)]);
  return {
    ...(Object.fromEntries(counts) as Record<(typeof COUNTS)[number], number>),
    charge_nano_usd: usage.reduce((sum, { charge_nano_usd: charge }) => sum + charge, 0n),
  };
}
