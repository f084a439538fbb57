import { Text } from '@mantine/core';
import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { callRoute } from '@turnpike/console-api/callRoute';
import { PAGES } from '@turnpike/console-api/pages';
import { hasRight } from '@turnpike/console-api/roles';
import { routes } from '../account.ts';
import { AutomaticPart } from '../billing/AutomaticPart.tsx';
import { DetailsPart, useDetails } from '../billing/DetailsPart.tsx';
import { DocumentsPart } from '../billing/DocumentsPart.tsx';
import { formatCents, type TopUp } from '../billing/money.ts';
import { TopUpPart } from '../billing/TopUpForm.tsx';
import { isMoving, Outcome, TOP_UP_STATES } from '../billing/topUpStates.tsx';
import { creditQuery } from '../console.ts';
import { Failure, useChange } from '../shell/change.tsx';
import { Facts } from '../shell/Facts.tsx';
import { Older } from '../shell/Older.tsx';
import { Badge, Loaded, Moment, NoRight, Page, Part, Usd } from '../shell/states.tsx';
import { RowButton, WideTable } from '../shell/WideTable.tsx';
import { useWorkspace } from '../shell/workspace.tsx';

const POLL_MS = 2_000;
const route = getRouteApi(`/shell/workspace${PAGES.billing}`);

/** The money of a workspace: its credit, the form that adds to it, and the payments so far. */
export function Billing() {
  const { role } = useWorkspace();
  return (
    <Page title="Billing">
      {hasRight(role, 'billing.read') ? (
        <Content />
      ) : (
        <NoRight message="Owners, admins and billing viewers see the payments of a workspace." />
      )}
    </Page>
  );
}

function Content() {
  const workspace = useWorkspace();
  const { organizationId, workspaceId, role } = workspace;
  const { top_up: returnedId } = route.useSearch();
  const mayPay = hasRight(role, 'billing.write');
  const params = { organization_id: organizationId, workspace_id: workspaceId };
  const offer = useQuery({
    queryKey: ['billing', workspaceId],
    queryFn: () => callRoute(routes.getBilling, { params }),
  });
  const details = useDetails(organizationId);
  const list = useInfiniteQuery({
    queryKey: ['top-ups', workspaceId],
    queryFn: ({ pageParam: before }) => callRoute(routes.listTopUps, { params: { ...params, before } }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next }) => next ?? undefined,
    refetchInterval: ({ state: { data } }) =>
      data?.pages.some(({ top_ups: topUps }) => topUps.some(isMoving)) ? POLL_MS : false,
  });
  const resume = useChange(
    (topUpId: string) => callRoute(routes.resumeTopUp, { params: { ...params, top_up_id: topUpId } }),
    { onDone: ({ checkout_url: url }) => location.assign(url) },
  );
  const topUps = list.data?.pages.flatMap(({ top_ups: page }) => page) ?? [];
  const returned = topUps.find(({ top_up_id: id }) => id === returnedId);
  const offerResume = ({ top_up_id: id }: TopUp) => ({
    go: () => resume.mutate(id),
    isPending: resume.isPending && resume.variables === id,
  });
  return (
    <>
      {returned && <Outcome topUp={returned} {...(mayPay && { resume: offerResume(returned) })} />}
      <Balance />
      <Loaded query={offer}>
        {(offered) => (
          <TopUpPart offer={offered} mayPay={mayPay} isVatIdPending={details.data?.vat_state === 'pending'} />
        )}
      </Loaded>
      <AutomaticPart mayPay={mayPay} />
      <DetailsPart organizationId={organizationId} query={details} mayChange={mayPay} />
      <Part title="Payments">
        <Failure error={resume.error} />
        <Loaded query={list}>
          {() =>
            topUps.length === 0 ? (
              <Text>Nothing was paid in so far.</Text>
            ) : (
              <>
                <Payments topUps={topUps} {...(mayPay && { offerResume })} />
                <Older query={list}>Show older payments</Older>
              </>
            )
          }
        </Loaded>
      </Part>
      <DocumentsPart organizationId={organizationId} topUps={topUps} />
    </>
  );
}

function Balance() {
  const query = useQuery(creditQuery(useWorkspace()));
  return (
    <Part title="Credit">
      <Loaded query={query}>
        {({ credit_nano_usd: credit, held_nano_usd: held, month_spend_nano_usd: spent }) => (
          <Facts
            facts={{
              Left: (
                <Text size="xl" fw={600}>
                  <Usd nano={BigInt(credit)} />
                </Text>
              ),
              'Held for calls in progress': <Usd nano={BigInt(held)} />,
              'Spent this month': <Usd nano={BigInt(spent)} />,
            }}
          />
        )}
      </Loaded>
    </Part>
  );
}

const COLUMNS = ['Started', 'State', 'Without tax', 'Tax', 'Total', 'Credit', 'Invoice'];

function Payments({
  topUps,
  offerResume,
}: {
  topUps: TopUp[];
  offerResume?: (topUp: TopUp) => { go: () => void; isPending: boolean };
}) {
  return (
    <WideTable label="Payments" columns={COLUMNS}>
      {topUps.map((topUp) => {
        const { top_up_id: id, state, currency, net_cents: net, tax_cents: tax, nano_usd: nano } = topUp;
        const resume = state === 'open' || state === 'wants_cardholder' ? offerResume?.(topUp) : undefined;
        return (
          <tr key={id}>
            <td>
              <Moment at={topUp.created_at} />
            </td>
            <td>
              <Badge>{TOP_UP_STATES[state]}</Badge>
            </td>
            <td>{formatCents(currency, net)}</td>
            <td>{tax === null ? '–' : formatCents(currency, tax)}</td>
            <td>{tax === null ? '–' : formatCents(currency, net + tax)}</td>
            <td>
              {nano === null ? '–' : <Usd nano={BigInt(nano)} />}
              {topUp.usd_per_eur !== null && (
                <Text size="xs" c="dimmed">
                  {topUp.usd_per_eur} dollars per euro
                </Text>
              )}
            </td>
            <td>
              {resume ? (
                <RowButton
                  label={`Go on to the payment of ${formatCents(currency, net)}`}
                  loading={resume.isPending}
                  onClick={resume.go}
                >
                  Go on
                </RowButton>
              ) : (
                (topUp.invoice_number ?? '–')
              )}
            </td>
          </tr>
        );
      })}
    </WideTable>
  );
}
