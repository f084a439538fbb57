import { Button, Group, Radio, Stack, Text, TextInput } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { callRoute } from '@turnpike/console-api/callRoute';
import { type SubmitEvent, useState } from 'react';
import type * as z from 'zod/mini';
import { routes } from '../account.ts';
import { Failure, useChange } from '../shell/change.tsx';
import { Facts } from '../shell/Facts.tsx';
import { Loaded, Part, Usd } from '../shell/states.tsx';
import { useWorkspace } from '../shell/workspace.tsx';
import { useDetails } from './DetailsPart.tsx';
import { CURRENCY_NAMES, type Currency, formatCents, parseCents } from './money.ts';

type Offer = z.output<typeof routes.getBilling.answer>;

const OTHER = 'other';
/** Time after the last digit of an amount until its tax is asked for. */
const PAUSE_MS = 300;

/** The form of a payment. It shows tax, total and credit, then leads to the payment page of the processor. */
function TopUpForm({ offer }: { offer: Offer }) {
  const { organizationId, workspaceId } = useWorkspace();
  const { currency, preset_cents: presets, minimum_cents: minimum, maximum_cents: maximum } = offer;
  const [choice, setChoice] = useState(String(presets[1] ?? minimum));
  const [text, setText] = useState('');
  const [isWrong, setIsWrong] = useState(false);
  const cents = choice === OTHER ? parseCents(text) : Number(choice);
  const isInRange = cents !== undefined && cents >= minimum && cents <= maximum;
  const start = useChange(
    (net: number) =>
      callRoute(routes.startTopUp, {
        params: { organization_id: organizationId, workspace_id: workspaceId },
        body: { net_cents: net },
      }),
    { onDone: ({ checkout_url: url }) => location.assign(url) },
  );
  const submit = (event: SubmitEvent<HTMLFormElement>): void => {
    event.preventDefault();
    setIsWrong(!isInRange);
    if (isInRange) start.mutate(cents);
  };
  const range = `${formatCents(currency, minimum)} to ${formatCents(currency, maximum)}`;
  return (
    <form onSubmit={submit} noValidate>
      <Stack>
        <Radio.Group
          label="Amount"
          description="Without tax. It becomes your credit, which does not expire."
          value={choice}
          onChange={setChoice}
        >
          <Group mt="xs" gap="lg">
            {presets.map((preset) => (
              <Radio key={preset} value={String(preset)} label={formatCents(currency, preset)} />
            ))}
            <Radio value={OTHER} label="Another amount" />
          </Group>
        </Radio.Group>
        {choice === OTHER && (
          <TextInput
            label={`Amount in ${CURRENCY_NAMES[currency]}`}
            description={`From ${range}.`}
            inputMode="decimal"
            value={text}
            onChange={({ currentTarget }) => setText(currentTarget.value)}
            error={isWrong && !isInRange ? `This field must be an amount from ${range}.` : undefined}
            required
          />
        )}
        {isInRange && <Preview currency={currency} cents={cents} />}
        <Failure error={start.error} />
        <Group>
          <Button type="submit" loading={start.isPending}>
            Go to the payment page
          </Button>
        </Group>
        <Text size="sm" c="dimmed">
          You pay on the page of our payment processor. Your card is saved there, and no part of it comes to us.
        </Text>
      </Stack>
    </form>
  );
}

function Preview({ currency, cents }: { currency: Currency; cents: number }) {
  const { organizationId, workspaceId } = useWorkspace();
  const [shown] = useDebouncedValue(cents, PAUSE_MS);
  const { data: details } = useDetails(organizationId);
  const query = useQuery({
    // The tax changes with the verdict on a VAT id, which comes after the details were saved.
    queryKey: ['top-up preview', workspaceId, shown, details?.vat_state],
    queryFn: () =>
      callRoute(routes.previewTopUp, {
        params: { organization_id: organizationId, workspace_id: workspaceId, net_cents: String(shown) },
      }),
  });
  return (
    <section aria-label="What you pay" aria-live="polite">
      <Loaded query={query}>
        {({
          net_cents: net,
          tax_cents: tax,
          total_cents: total,
          is_reverse_charge: isReverseCharge,
          nano_usd: nano,
          usd_per_eur: rate,
          rate_month: month,
        }) => (
          <Stack gap="sm">
            <Facts
              facts={{
                'Without tax': formatCents(currency, net),
                Tax: tax === null ? 'Added on the payment page' : formatCents(currency, tax),
                Total: total === null ? 'Shown on the payment page' : <b>{formatCents(currency, total)}</b>,
                'Added to your credit': <Usd nano={BigInt(nano)} />,
                ...(rate !== null && { [`Rate of ${month}`]: `${rate} dollars per euro` }),
              }}
            />
            {tax === null && (
              <Text size="sm" c="dimmed">
                The tax depends on your address, which is not known yet. The payment page asks for it, and shows tax and
                total before you pay.
              </Text>
            )}
            {isReverseCharge && (
              <Text size="sm" c="dimmed">
                Reverse charge: your business owes the VAT in its own country.
              </Text>
            )}
          </Stack>
        )}
      </Loaded>
    </section>
  );
}

/** The part of the page with the form, or with the reason why nothing can be paid now. */
export function TopUpPart({
  offer,
  mayPay,
  isVatIdPending,
}: {
  offer: Offer;
  mayPay: boolean;
  isVatIdPending: boolean;
}) {
  return (
    <Part title="Add credit">
      {!mayPay ? (
        <Text>An owner or admin of the organization can add credit.</Text>
      ) : isVatIdPending ? (
        <Text role="status">Your VAT id is being checked. You can pay once there is a verdict, within a minute.</Text>
      ) : offer.is_open ? (
        <TopUpForm offer={offer} />
      ) : (
        <Text>
          {offer.currency === 'eur'
            ? 'Nothing can be paid in euros now, because the rate of this month is missing. Try again later.'
            : 'Nothing can be paid in here.'}
        </Text>
      )}
    </Part>
  );
}
