import { toMaskedKey } from '@turnpike/api-keys/apiKey';
import type { keyDetailsSchema } from '@turnpike/internal-api/auth';
import type { z } from 'zod';
import { toInstantCell, toUsdCell } from '../report/cells.ts';
import { type Columns, withAmounts } from '../report/entries.ts';

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
type ShownKey = ReturnType<typeof toShownKey>;

const isPast = (instant: string | null): boolean => instant !== null && Date.parse(instant) <= Date.now();

export const toKeyDocument = ({ period_budget: ofPeriod, ...key }: ShownKey): object => ({
  ...withAmounts(key),
  period_budget: ofPeriod && withAmounts(ofPeriod),
});

export const KEY_COLUMNS: Columns<ShownKey> = {
  id: 'key_id',
  key: 'key',
  name: 'name',
  status: (key) => (key.blocked_by === 'console' ? 'blocked (console)' : key.status),
  rpm: 'rpm',
  tpm: 'tpm',
  'budget USD': 'max_budget_nano_usd',
  'USD a period': ({ period_budget: of }) => of && `${toUsdCell(of.max_nano_usd)}/${of.period}`,
  models: (key) => key.allowed_models?.join(', ') ?? 'all',
  expires: 'expires_at',
  created: 'created_at',
  // One that has ended is shown too: it is what a customer asks about whose calls fail.
  'old secret': ({ old_secret: old }) =>
    old && `${old.key} ${isPast(old.ends_at) ? 'ended' : 'until'} ${toInstantCell(old.ends_at)}`,
};
