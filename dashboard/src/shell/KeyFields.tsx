import { Group, NativeSelect, TextInput } from '@mantine/core';
import { budgetPeriod, keysConsoleApi, perMinute } from '@turnpike/console-api/console/keys';
import * as z from 'zod/mini';
import type { Key } from '../console.ts';
import { toUsdField, usdField } from '../usd.ts';

const numberField = z.pipe(
  z.pipe(z.string().check(z.trim(), z.regex(/^\d{1,10}$/, 'must be a whole number')), z.transform(Number)),
  perMinute,
);

const { name, allowed_models: modelIds } = keysConsoleApi.routes.createKey.body.shape;
/** Model ids with commas or spaces between them. The empty text becomes null. */
const modelsField = z.pipe(
  z.pipe(
    z.string(),
    z.transform((text: string): string[] | null | undefined => {
      const ids = text.split(/[\s,]+/).filter((id) => id !== '');
      return ids.length === 0 ? null : ids;
    }),
  ),
  modelIds,
);

const fieldsSchema = z.object({
  name,
  rpm: numberField,
  tpm: numberField,
  max_budget_nano_usd: usdField,
  period_budget_nano_usd: usdField,
  budget_period: budgetPeriod,
  allowed_models: modelsField,
  expires_at: z.pipe(
    z.string(),
    z.transform((day: string): string | null => (day === '' ? null : `${day}T00:00:00.000Z`)),
  ),
});

/** The fields of a key, made into the body of a change. */
export const keyFormSchema = z.pipe(
  fieldsSchema,
  z.transform(({ period_budget_nano_usd: most, budget_period: period, ...fields }: z.output<typeof fieldsSchema>) => ({
    ...fields,
    period_budget: most === null ? null : { period, max_nano_usd: most },
  })),
);

type KeyTexts = z.input<typeof fieldsSchema>;
const USUAL: KeyTexts = {
  name: '',
  rpm: '600',
  tpm: '1000000',
  max_budget_nano_usd: '',
  period_budget_nano_usd: '',
  budget_period: 'month',
  allowed_models: '',
  expires_at: '',
};
const PERIODS = [
  { value: 'day', label: 'Day' },
  { value: 'week', label: 'Week from Monday' },
  { value: 'month', label: 'Month' },
];

/** Writes a key into the fields of the form. Of an expiry it writes the day. */
export const toKeyTexts = (key: Key): KeyTexts => ({
  name: key.name,
  rpm: `${key.rpm}`,
  tpm: `${key.tpm}`,
  max_budget_nano_usd: toUsdField(key.max_budget_nano_usd),
  period_budget_nano_usd: toUsdField(key.period_budget?.max_nano_usd ?? null),
  budget_period: key.period_budget?.period ?? USUAL.budget_period,
  allowed_models: key.allowed_models?.join(', ') ?? '',
  expires_at: key.expires_at?.slice(0, 'YYYY-MM-DD'.length) ?? '',
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
      <Group grow preventGrowOverflow={false} align="flex-start">
        <TextInput
          label="Dollars of each period"
          description="The most in each. Empty means no such budget."
          inputMode="decimal"
          {...fieldOf('period_budget_nano_usd')}
        />
        <NativeSelect label="Period" description="In UTC." data={PERIODS} {...fieldOf('budget_period')} />
      </Group>
      <TextInput
        label="Models"
        description="Ids with commas between them. Empty means all models."
        {...fieldOf('allowed_models')}
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
