import { toMaskedKey } from '@turnpike/api-keys/apiKey';
import type { keyDetailsSchema } from '@turnpike/internal-api/auth';
import type { z } from 'zod';
import { toAmountFields, toInstantCell, toUsdCell } from '../report/amounts.ts';
import type { Column } from '../report/formatTable.ts';

/** A key as people and `--json` are shown it. */
export const toShownKey = ({
  last_four: lastFour,
  status,
  old_secret: old,
  ...key
}: z.output<typeof keyDetailsSchema>) => ({
  ...key,
  key: toMaskedKey(lastFour),
  status: status !== 'revoked' && isPast(key.expires_at) ? ('expired' as const) : status,
  old_secret: old && { key: toMaskedKey(old.last_four), ends_at: old.ends_at },
});
export type ShownKey = ReturnType<typeof toShownKey>;

const isPast = (instant: string | null): boolean => instant !== null && Date.parse(instant) <= Date.now();

export function toKeyDocument({ max_budget_nano_usd: maxBudget, period_budget: ofPeriod, ...key }: ShownKey): object {
  return {
    ...key,
    ...toAmountFields('max_budget', maxBudget),
    period_budget: ofPeriod && { period: ofPeriod.period, ...toAmountFields('max', ofPeriod.max_nano_usd) },
  };
}

export const KEY_COLUMNS: Column[] = [
  { title: 'id' },
  { title: 'key' },
  { title: 'name' },
  { title: 'status' },
  { title: 'rpm', isNumber: true },
  { title: 'tpm', isNumber: true },
  { title: 'budget USD', isNumber: true },
  { title: 'USD a period', isNumber: true },
  { title: 'models' },
  { title: 'expires' },
  { title: 'created' },
  { title: 'old secret' },
];

export const toKeyRow = (key: ShownKey): string[] => [
  key.key_id,
  key.key,
  key.name,
  key.blocked_by === 'console' ? 'blocked (console)' : key.status,
  String(key.rpm),
  String(key.tpm),
  toUsdCell(key.max_budget_nano_usd),
  key.period_budget ? `${toUsdCell(key.period_budget.max_nano_usd)}/${key.period_budget.period}` : '-',
  key.allowed_models?.join(', ') ?? 'all',
  toInstantCell(key.expires_at),
  toInstantCell(key.created_at),
  toOldSecretCell(key.old_secret),
];

/** One that has ended is told of too: it is what a customer asks about whose calls fail. */
const toOldSecretCell = (old: ShownKey['old_secret']): string =>
  old === null ? '-' : `${old.key} ${isPast(old.ends_at) ? 'ended' : 'until'} ${toInstantCell(old.ends_at)}`;
