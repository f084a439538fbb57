import { USAGE_GROUPS, type UsageGrouping } from '@turnpike/internal-api/usageLedger';
import { z } from 'zod';
import { defineCommand } from '../cli/command.ts';
import { day, keyId, workspaceId } from '../cli/fields.ts';
import { toAmountFields, toUsdCell } from '../report/amounts.ts';
import { DAY_MS, toDay } from '../report/days.ts';
import type { Services } from '../stack/createServices.ts';

type Entry = Awaited<ReturnType<Services['ledger']['getUsage']>>['usage'][number];
type Usage = Omit<Entry, 'key_id' | 'day' | 'model'>;

const NUMBERS = ['requests', 'success', 'failure', 'unknown', 'prompt', 'cached', 'completion', 'charge USD'];
/** The grouping of entries, and the field that names it. */
const FIELDS = { day: 'day', key: 'key_id', model: 'model' } as const satisfies Record<UsageGrouping, keyof Entry>;
const GROUPING = new RegExp(`^(${USAGE_GROUPS.join('|')})(,(${USAGE_GROUPS.join('|')}))*$`);

const today = (): string => toDay(Date.now());

export const showUsage = defineCommand({
  words: 'usage',
  summary: 'what a key, or every key of a workspace, used by day (UTC), key or model, by the calls that are recorded',
  options: {
    key: { value: 'KEY_ID', help: 'one key' },
    workspace: { value: 'WS', help: 'every key of a workspace' },
    from: { value: 'DAY', help: 'the first day, as in 2026-01-31; the first of this month if not given' },
    to: { value: 'DAY', help: 'the last day, which is counted in; today if not given' },
    by: { value: 'GROUPS', help: 'day, key or model, or several of them, as in model,day; day,key if not given' },
  },
  input: z
    .object({
      key: keyId.optional(),
      workspace: workspaceId.optional(),
      from: day.default(() => `${today().slice(0, 7)}-01`),
      to: day.default(today),
      by: z
        .string()
        .regex(GROUPING, 'must be day, key or model, or several of them with commas between')
        .default('day,key'),
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
    const totals = usage.reduce<Usage>(add, NOTHING);
    const rows = usage.map((entry) => [...groups.map((group) => entry[FIELDS[group]] ?? ''), ...toCells(entry)]);
    const columns = [...groups.map((title) => ({ title })), ...NUMBERS.map((title) => ({ title, isNumber: true }))];
    const totalCells = groups.map((_, index) => (index === 0 ? 'total' : ''));
    return {
      document: {
        ...owner,
        from,
        to,
        usage: usage.map(toDocument),
        totals: toDocument(totals),
      },
      text:
        rows.length > 0
          ? table(columns, [...rows, [...totalCells, ...toCells(totals)]])
          : `Nothing is recorded from ${from} to ${to}.`,
    };
  },
});

/** Throws where there is none: the ledger would know of no calls, as it does of one that made none. */
async function expectOwner({ auth }: Services, owner: { key_id: string } | { workspace_id: string }): Promise<void> {
  if ('workspace_id' in owner) await auth.getWorkspace({ params: owner });
  else await auth.getKey({ params: owner });
}

const NOTHING: Usage = {
  requests: 0,
  success: 0,
  failure: 0,
  unknown: 0,
  prompt_tokens: 0,
  cached_prompt_tokens: 0,
  completion_tokens: 0,
  charge_nano_usd: 0n,
};

const add = (sum: Usage, entry: Usage): Usage => ({
  requests: sum.requests + entry.requests,
  success: sum.success + entry.success,
  failure: sum.failure + entry.failure,
  unknown: sum.unknown + entry.unknown,
  prompt_tokens: sum.prompt_tokens + entry.prompt_tokens,
  cached_prompt_tokens: sum.cached_prompt_tokens + entry.cached_prompt_tokens,
  completion_tokens: sum.completion_tokens + entry.completion_tokens,
  charge_nano_usd: sum.charge_nano_usd + entry.charge_nano_usd,
});

const toDocument = ({ charge_nano_usd: charge, ...counts }: Usage): object => ({
  ...counts,
  ...toAmountFields('charge', charge),
});

const toCells = (usage: Usage): string[] => [
  String(usage.requests),
  String(usage.success),
  String(usage.failure),
  String(usage.unknown),
  String(usage.prompt_tokens),
  String(usage.cached_prompt_tokens),
  String(usage.completion_tokens),
  toUsdCell(usage.charge_nano_usd),
];
