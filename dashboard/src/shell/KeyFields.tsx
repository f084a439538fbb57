import { Group, TextInput } from '@mantine/core';
import { keysConsoleApi, perMinute } from '@turnpike/console-api/consoleApi';
import * as z from 'zod/mini';
import type { Key } from '../console.ts';
import { toUsdField, usdField } from '../usd.ts';

const numberField = z.pipe(
  z.pipe(z.string().check(z.trim(), z.regex(/^\d{1,10}$/, 'must be a whole number')), z.transform(Number)),
  perMinute,
);

/** The fields of a key, named as in the body of a change. */
export const keyFormSchema = z.object({
  name: keysConsoleApi.routes.createKey.body.shape.name,
  rpm: numberField,
  tpm: numberField,
  max_budget_nano_usd: usdField,
  expires_at: z.pipe(
    z.string(),
    z.transform((day: string): string | null => (day === '' ? null : `${day}T00:00:00.000Z`)),
  ),
});

type KeyTexts = z.input<typeof keyFormSchema>;
const USUAL: KeyTexts = { name: '', rpm: '600', tpm: '1000000', max_budget_nano_usd: '', expires_at: '' };

/** Writes a key into the fields of the form. Of an expiry it writes the day. */
export const toKeyTexts = ({ name, rpm, tpm, max_budget_nano_usd: budget, expires_at: expiresAt }: Key): KeyTexts => ({
  name,
  rpm: `${rpm}`,
  tpm: `${tpm}`,
  max_budget_nano_usd: toUsdField(budget),
  expires_at: expiresAt?.slice(0, 'YYYY-MM-DD'.length) ?? '',
});

/** The fields of a key that is edited, or of a new key with the usual limits. */
export function KeyFields({
  texts = USUAL,
  problemOf,
}: {
  texts?: KeyTexts;
  problemOf: (field: string) => string | undefined;
}) {
  const fieldOf = (name: keyof KeyTexts) => ({ name, defaultValue: texts[name], error: problemOf(name) });
  return (
    <>
      <TextInput label="Name" {...fieldOf('name')} required />
      <Group grow preventGrowOverflow={false} align="flex-start">
        <TextInput label="Requests a minute" inputMode="numeric" {...fieldOf('rpm')} required />
        <TextInput label="Tokens a minute" inputMode="numeric" {...fieldOf('tpm')} required />
      </Group>
      <TextInput
        label="Budget in dollars"
        description="The most that the key may ever spend. Empty means no budget of its own."
        inputMode="decimal"
        {...fieldOf('max_budget_nano_usd')}
      />
      <TextInput
        label="Expires at the start of"
        description="A day in UTC. Empty means never."
        type="date"
        {...fieldOf('expires_at')}
      />
    </>
  );
}
