import { Group, TextInput } from '@mantine/core';
import { keysConsoleApi, perMinute } from '@turnpike/console-api/consoleApi';
import * as z from 'zod/mini';
import { usdField } from '../usd.ts';

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

/** The fields of a new key, with the usual limits. */
export function KeyFields({ problemOf }: { problemOf: (field: string) => string | undefined }) {
  return (
    <>
      <TextInput label="Name" name="name" error={problemOf('name')} required />
      <Group grow preventGrowOverflow={false} align="flex-start">
        <TextInput
          label="Requests a minute"
          name="rpm"
          inputMode="numeric"
          defaultValue="600"
          error={problemOf('rpm')}
          required
        />
        <TextInput
          label="Tokens a minute"
          name="tpm"
          inputMode="numeric"
          defaultValue="1000000"
          error={problemOf('tpm')}
          required
        />
      </Group>
      <TextInput
        label="Budget in dollars"
        description="The most that the key may ever spend. Empty means no budget of its own."
        name="max_budget_nano_usd"
        inputMode="decimal"
        error={problemOf('max_budget_nano_usd')}
      />
      <TextInput
        label="Expires at the start of"
        description="A day in UTC. Empty means never."
        name="expires_at"
        type="date"
        error={problemOf('expires_at')}
      />
    </>
  );
}
