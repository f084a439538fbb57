import { Button, Group, NativeSelect, Text, TextInput } from '@mantine/core';
import { type UseQueryResult, useQuery } from '@tanstack/react-query';
import { callRoute } from '@turnpike/console-api/callRoute';
import { useState } from 'react';
import * as z from 'zod/mini';
import { routes } from '../account.ts';
import { useChange } from '../shell/change.tsx';
import { FormDialog } from '../shell/dialogs.tsx';
import { Facts } from '../shell/Facts.tsx';
import { Loaded, Name, Part } from '../shell/states.tsx';
import { listCountries, nameOfCountry } from './countries.ts';

export type Details = z.output<typeof routes.getBillingDetails.answer>;

/** Between two looks at a VAT id that is being checked. */
const POLL_MS = 2_000;

/** Returns the address and the VAT id of an organization. Looks again while the VAT id is being checked. */
export const useDetails = (organizationId: string): UseQueryResult<Details> =>
  useQuery({
    queryKey: ['billing details', organizationId],
    queryFn: () => callRoute(routes.getBillingDetails, { params: { organization_id: organizationId } }),
    refetchInterval: ({ state: { data } }) => (data?.vat_state === 'pending' ? POLL_MS : false),
  });

const VAT_STATES: Record<NonNullable<Details['vat_state']>, string> = {
  pending: 'Being checked. This takes up to a minute, and payments wait for it.',
  verified: 'Verified.',
  unverified: 'Not valid, so VAT is charged. Check its digits.',
  unavailable: 'It could not be checked, so VAT is charged. It is checked again every night.',
};

/** The buyer as invoices name it. */
export function DetailsPart({
  organizationId,
  query,
  mayChange,
}: {
  organizationId: string;
  query: UseQueryResult<Details>;
  mayChange: boolean;
}) {
  const [isOpen, setIsOpen] = useState(false);
  return (
    <Part title="Invoice address">
      <Loaded query={query}>
        {(details) => (
          <>
            {details.country === null ? (
              <Text>
                No address so far. With one, tax and total are shown here before you pay. A business enters its VAT id
                here too, since the payment page does not ask for it.
              </Text>
            ) : (
              <Shown details={details} country={details.country} />
            )}
            {mayChange && (
              <Group>
                <Button variant="default" onClick={() => setIsOpen(true)}>
                  {details.country === null ? 'Enter the address' : 'Change the address'}
                </Button>
              </Group>
            )}
            {isOpen && (
              <DetailsDialog organizationId={organizationId} details={details} onClose={() => setIsOpen(false)} />
            )}
          </>
        )}
      </Loaded>
    </Part>
  );
}

function Shown({ details, country }: { details: Details; country: string }) {
  const { name, line1, line2, postal_code: postalCode, city, state, vat_id: vatId, vat_state: vatState } = details;
  const lines = [line1, line2, [postalCode, city].filter(Boolean).join(' '), state, nameOfCountry(country)];
  return (
    <Facts
      facts={{
        Name: <Name>{name ?? ''}</Name>,
        Address: <Name>{lines.filter(Boolean).join(', ')}</Name>,
        'VAT id':
          vatId === null || vatState === null ? (
            'None'
          ) : (
            <span role="status">
              {vatId}
              <Text size="sm" c="dimmed">
                {VAT_STATES[vatState]}
                {details.vat_name !== null && ` It is registered as ${details.vat_name}.`}
              </Text>
            </span>
          ),
      }}
    />
  );
}

const { shape } = routes.changeBillingDetails.body;
/** A field that may be empty. The empty text becomes null. */
const optional = <Schema extends z.core.$ZodType<unknown, string | null>>(schema: Schema) =>
  z.pipe(
    z.pipe(
      z.string(),
      z.transform((text: string): string | null => (text.trim() === '' ? null : text)),
    ),
    schema,
  );
const detailsFormSchema = z.object({
  ...shape,
  line2: optional(shape.line2),
  postal_code: optional(shape.postal_code),
  state: optional(shape.state),
  vat_id: optional(shape.vat_id),
});

function DetailsDialog({
  organizationId,
  details,
  onClose,
}: {
  organizationId: string;
  details: Details;
  onClose: () => void;
}) {
  const [countries] = useState(listCountries);
  const change = useChange(
    (body: z.output<typeof detailsFormSchema>) =>
      callRoute(routes.changeBillingDetails, { params: { organization_id: organizationId }, body }),
    { onDone: onClose },
  );
  return (
    <FormDialog title="Invoice address" action="Save" schema={detailsFormSchema} change={change} onClose={onClose}>
      {(problemOf) => {
        const fieldOf = (name: keyof typeof shape) => ({
          name,
          defaultValue: details[name] ?? '',
          error: problemOf(name),
        });
        return (
          <>
            <TextInput label="Name or company" autoComplete="organization" {...fieldOf('name')} required />
            <TextInput label="Street and number" autoComplete="address-line1" {...fieldOf('line1')} required />
            <TextInput label="Second line" autoComplete="address-line2" {...fieldOf('line2')} />
            <Group grow preventGrowOverflow={false} align="flex-start">
              <TextInput label="Postal code" autoComplete="postal-code" {...fieldOf('postal_code')} />
              <TextInput label="City" autoComplete="address-level2" {...fieldOf('city')} required />
            </Group>
            <Group grow preventGrowOverflow={false} align="flex-start">
              <TextInput label="State or province" autoComplete="address-level1" {...fieldOf('state')} />
              <NativeSelect
                label="Country"
                data={[{ value: '', label: '' }, ...countries]}
                {...fieldOf('country')}
                required
              />
            </Group>
            <TextInput
              label="VAT id"
              description="Of a business in the European Union, as DE123456789. Empty means none."
              {...fieldOf('vat_id')}
            />
            <Text size="sm" c="dimmed">
              The next invoices have this address. Invoices that exist do not change.
            </Text>
          </>
        );
      }}
    </FormDialog>
  );
}
