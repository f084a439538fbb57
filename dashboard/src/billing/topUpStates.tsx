import { Alert, Button, Stack, Text } from '@mantine/core';
import { Usd } from '../shell/states.tsx';
import { formatCents, type TopUp } from './money.ts';

/** The states of a payment as people read them. */
export const TOP_UP_STATES: Record<TopUp['state'], string> = {
  created: 'Not started',
  open: 'Not paid yet',
  processing: 'On its way',
  wants_cardholder: 'Your bank wants to ask you',
  paid: 'Paid',
  invoiced: 'Paid',
  declined: 'Declined',
  expired: 'Expired',
};

/** A payment that the processor, a webhook or a job may still change within moments. */
export const isMoving = ({ state }: TopUp): boolean => state === 'processing' || state === 'paid';

/** Shows the state of the payment from whose page the visitor comes back. */
export function Outcome({ topUp, resume }: { topUp: TopUp; resume?: { go: () => void; isPending: boolean } }) {
  const { state, currency, net_cents: net, tax_cents: tax, nano_usd: nano, invoice_number: number } = topUp;
  const amount = formatCents(currency, net);
  if (state === 'paid' || state === 'invoiced')
    return (
      <Alert color="gray" variant="outline" role="status" title="Paid">
        <Text>
          {formatCents(currency, net + (tax ?? 0))} was paid, and <Usd nano={BigInt(nano ?? 0)} /> was added to your
          credit. {number === null ? 'The invoice follows in some moments.' : `The invoice is ${number}.`}
        </Text>
      </Alert>
    );
  if (state === 'processing')
    return (
      <Alert color="gray" variant="outline" role="status" title="The payment is on its way">
        <Text>Your bank has not confirmed {amount} yet. This page shows the credit once it is there.</Text>
      </Alert>
    );
  if (state === 'declined')
    return (
      <Alert color="red" variant="outline" role="alert" title="The payment was declined">
        <Text>Your bank did not pay {amount}, so nothing was charged. Try another card.</Text>
      </Alert>
    );
  if (state === 'expired')
    return (
      <Alert color="gray" variant="outline" role="status" title="The payment has expired">
        <Text>The payment page of {amount} was open for too long, so nothing was charged. Start a new payment.</Text>
      </Alert>
    );
  return (
    <Alert color="gray" variant="outline" role="status" title="Not paid">
      <Stack gap="sm" align="flex-start">
        <Text>{amount} is not paid, and nothing was charged.</Text>
        {resume && (
          <Button variant="default" loading={resume.isPending} onClick={resume.go}>
            Go on to the payment
          </Button>
        )}
      </Stack>
    </Alert>
  );
}
