import { toMaskedKey } from '@turnpike/api-keys/apiKey';
import type { keyDetailsSchema } from '@turnpike/internal-api/auth';
import type { z } from 'zod';
import { toAmountFields, toUsdCell } from '../report/amounts.ts';
import type { Column } from '../report/formatTable.ts';
import { toInstantCell } from '../report/toInstantCell.ts';

/** A key as people and `--json` are shown it. */
export const toShownKey = ({ last_four: lastFour, status, ...key }: z.output<typeof keyDetailsSchema>) => ({
  ...key,
  key: toMaskedKey(lastFour),
  status: status !== 'revoked' && isPast(key.expires_at) ? ('expired' as const) : status,
});
export type ShownKey = ReturnType<typeof toShownKey>;

const isPast = (instant: string | null): boolean => instant !== null && Date.parse(instant) <= Date.now();

export function toKeyDocument({ max_budget_nano_usd: maxBudget, ...key }: ShownKey): object {
  return { ...key, ...toAmountFields('max_budget', maxBudget) };
}

export const KEY_COLUMNS: Column[] = [
  { title: 'id' },
  { title: 'key' },
  { title: 'name' },
  { title: 'status' },
  { title: 'rpm', isNumber: true },
  { title: 'tpm', isNumber: true },
  { title: 'budget USD', isNumber: true },
  { title: 'expires' },
  { title: 'created' },
];

export const toKeyRow = (key: ShownKey): string[] => [
  key.key_id,
  key.key,
  key.name,
  key.status,
  String(key.rpm),
  String(key.tpm),
  toUsdCell(key.max_budget_nano_usd),
  toInstantCell(key.expires_at),
  toInstantCell(key.created_at),
];
