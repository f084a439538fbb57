import { toMaskedKey } from '@turnpike/api-keys/apiKey';
import { nanoUsdSchema } from '@turnpike/money/nanoUsd';
import { z } from 'zod';
import { toAmountFields, toUsdCell } from '../report/amounts.ts';
import type { Column } from '../report/formatTable.ts';
import { toInstantCell } from '../report/toInstantCell.ts';

/** A key as auth shows it to the operator. */
export const keyDetailsSchema = z
  .object({
    key_id: z.string(),
    workspace_id: z.string(),
    last_four: z.string(),
    name: z.string(),
    status: z.enum(['active', 'blocked', 'revoked']),
    rpm: z.number(),
    tpm: z.number(),
    max_budget_nano_usd: nanoUsdSchema.nullable(),
    expires_at: z.string().nullable(),
    created_at: z.string(),
  })
  .transform(({ last_four: lastFour, status, ...key }) => ({
    ...key,
    key: toMaskedKey(lastFour),
    status: status !== 'revoked' && isPast(key.expires_at) ? ('expired' as const) : status,
  }));
export type KeyDetails = z.output<typeof keyDetailsSchema>;

const isPast = (instant: string | null): boolean => instant !== null && Date.parse(instant) <= Date.now();

export function toKeyDocument({ max_budget_nano_usd: maxBudget, ...key }: KeyDetails): object {
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

export const toKeyRow = (key: KeyDetails): string[] => [
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
