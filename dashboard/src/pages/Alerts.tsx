import { Button, Group, NativeSelect, Text, TextInput } from '@mantine/core';
import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { callRoute } from '@turnpike/console-api/callRoute';
import { PAGES } from '@turnpike/console-api/pages';
import { hasRight } from '@turnpike/console-api/roles';
import { useState } from 'react';
import * as z from 'zod/mini';
import { routes, workspacesQuery } from '../account.ts';
import { useChange } from '../shell/change.tsx';
import { Dialog } from '../shell/Dialog.tsx';
import { ConfirmDialog, FormDialog } from '../shell/dialogs.tsx';
import { Facts } from '../shell/Facts.tsx';
import { Older } from '../shell/Older.tsx';
import { Snippet } from '../shell/Snippet.tsx';
import { Loaded, Moment, NoRight, Page, Part, Usd } from '../shell/states.tsx';
import { WideTable } from '../shell/WideTable.tsx';
import { useWorkspace } from '../shell/workspace.tsx';
import { toUsdField, usdField } from '../usd.ts';

type Rule = z.output<typeof routes.getAlerts.answer>;
type Alert = z.output<typeof routes.listAlerts.answer>['alerts'][number];
type Delivery = NonNullable<Alert['delivery']>;

/** Between two reads of alerts whose webhook is on its way. */
const POLL_MS = 2_000;

/** The budget, the cap and the balance at which a workspace alerts, and the alerts that it raised. */
export function Alerts() {
  const { role } = useWorkspace();
  return (
    <Page title="Alerts">
      {hasRight(role, 'billing.read') ? (
        <Content mayChange={hasRight(role, 'billing.write')} />
      ) : (
        <NoRight message="Owners, admins and billing viewers see the alerts of a workspace." />
      )}
    </Page>
  );
}

function Content({ mayChange }: { mayChange: boolean }) {
  const params = useParams();
  const query = useQuery({
    queryKey: ['alerts', params.workspace_id],
    queryFn: () => callRoute(routes.getAlerts, { params }),
  });
  return (
    <>
      <Loaded query={query}>
        {(rule) => (
          <>
            <RulePart rule={rule} mayChange={mayChange} />
            <WebhookPart webhook={rule.webhook} mayChange={mayChange} />
          </>
        )}
      </Loaded>
      <RaisedPart />
    </>
  );
}

function useParams() {
  const { organizationId, workspaceId } = useWorkspace();
  return { organization_id: organizationId, workspace_id: workspaceId };
}

/** An amount in dollars, or its absence. */
const amountOf = (nano: string | null, absent: string) => (nano === null ? absent : <Usd nano={BigInt(nano)} />);

function RulePart({ rule, mayChange }: { rule: Rule; mayChange: boolean }) {
  const [isOpen, setIsOpen] = useState(false);
  return (
    <Part title="When it alerts">
      <Text size="sm" c="dimmed">
        At 50, 80 and 100 % of the budget and of the monthly cap, each once in a month (UTC). Below a balance once,
        until the next credit. The region reports what was spent once a minute.
      </Text>
      <Facts
        facts={{
          'Budget of a month': amountOf(rule.budget_nano_usd, 'None. A budget stops no call.'),
          'Monthly cap': <Cap />,
          'Below a balance of': amountOf(rule.balance_below_nano_usd, 'Never'),
          Mail: rule.is_mailed ? 'To all members who may pay' : 'None',
        }}
      />
      {mayChange && (
        <Group>
          <Button variant="default" onClick={() => setIsOpen(true)}>
            Change the alerts
          </Button>
        </Group>
      )}
      {isOpen && <RuleDialog rule={rule} onClose={() => setIsOpen(false)} />}
    </Part>
  );
}

/** The monthly cap of the workspace, which the page of workspaces changes. */
function Cap() {
  const { organizationId, workspaceId, role } = useWorkspace();
  const { data } = useQuery(workspacesQuery(organizationId));
  const workspace = data?.workspaces.find(({ workspace_id: id }) => id === workspaceId);
  return (
    <>
      {amountOf(workspace?.monthly_cap_nano_usd ?? null, 'None.')}{' '}
      {hasRight(role, 'workspaces.change') && (
        <Link to={PAGES.workspaces} params={{ organizationId }} className="link">
          Change the cap
        </Link>
      )}
    </>
  );
}

const ruleFormSchema = z.object({
  budget_nano_usd: usdField,
  balance_below_nano_usd: usdField,
  is_mailed: z.pipe(
    z.string(),
    z.transform((answer: string): boolean => answer === 'yes'),
  ),
});

function RuleDialog({ rule, onClose }: { rule: Rule; onClose: () => void }) {
  const params = useParams();
  const change = useChange((body: z.output<typeof ruleFormSchema>) => callRoute(routes.setAlerts, { params, body }), {
    onDone: onClose,
  });
  return (
    <FormDialog title="Change the alerts" action="Save" schema={ruleFormSchema} change={change} onClose={onClose}>
      {(problemOf) => (
        <>
          <TextInput
            label="Budget of a month in dollars"
            description="Empty means none. It alerts, and stops no call: the monthly cap does."
            name="budget_nano_usd"
            inputMode="decimal"
            defaultValue={toUsdField(rule.budget_nano_usd)}
            error={problemOf('budget_nano_usd')}
          />
          <TextInput
            label="When the balance is below, in dollars"
            description="Empty means never."
            name="balance_below_nano_usd"
            inputMode="decimal"
            defaultValue={toUsdField(rule.balance_below_nano_usd)}
            error={problemOf('balance_below_nano_usd')}
          />
          <NativeSelect
            label="Mail"
            name="is_mailed"
            defaultValue={rule.is_mailed ? 'yes' : 'no'}
            data={[
              { value: 'yes', label: 'To all members who may pay' },
              { value: 'no', label: 'None' },
            ]}
          />
        </>
      )}
    </FormDialog>
  );
}

function WebhookPart({ webhook, mayChange }: { webhook: Rule['webhook']; mayChange: boolean }) {
  const params = useParams();
  const [open, setOpen] = useState<'address' | 'end'>();
  const [secret, setSecret] = useState<string>();
  const close = () => setOpen(undefined);
  const end = useChange((_: undefined) => callRoute(routes.removeAlertWebhook, { params }), { onDone: close });
  return (
    <Part title="Webhook">
      {webhook === null ? (
        <Text>Alerts are posted nowhere. Set an address, and each alert is posted to it with a signature.</Text>
      ) : (
        <Facts
          facts={{
            Address: <span style={{ overflowWrap: 'anywhere' }}>{webhook.url}</span>,
            'Set at': <Moment at={webhook.set_at} />,
          }}
        />
      )}
      {mayChange && (
        <Group>
          <Button variant="default" onClick={() => setOpen('address')}>
            {webhook === null ? 'Set a webhook' : 'Change the webhook'}
          </Button>
          {webhook !== null && (
            <Button variant="default" onClick={() => setOpen('end')}>
              Remove the webhook
            </Button>
          )}
        </Group>
      )}
      {open === 'address' && (
        <AddressDialog
          url={webhook?.url ?? ''}
          onClose={close}
          onDone={(made) => {
            setSecret(made);
            close();
          }}
        />
      )}
      {open === 'end' && (
        <ConfirmDialog title="Remove the webhook" action="Remove it" change={end} onClose={close}>
          Alerts are posted nowhere from now on. Those that were not taken yet are given up.
        </ConfirmDialog>
      )}
      {secret !== undefined && (
        <Dialog title="Copy the secret now">
          <Text>
            It signs each webhook, as the Standard Webhooks specification says. It cannot be shown again. If it is lost,
            set the webhook again.
          </Text>
          <Snippet label="Secret of the webhook" text={secret} />
          <Group justify="flex-end">
            <Button onClick={() => setSecret(undefined)}>I have copied it</Button>
          </Group>
        </Dialog>
      )}
    </Part>
  );
}

function AddressDialog({
  url,
  onClose,
  onDone,
}: {
  url: string;
  onClose: () => void;
  onDone: (secret: string) => void;
}) {
  const params = useParams();
  const change = useChange((body: { url: string }) => callRoute(routes.setAlertWebhook, { params, body }), {
    onDone: ({ secret }) => onDone(secret),
  });
  return (
    <FormDialog
      title="Webhook"
      action="Set the webhook"
      schema={routes.setAlertWebhook.body}
      change={change}
      onClose={onClose}
    >
      {(problemOf) => (
        <TextInput
          label="Address"
          description="An https address of a public host. It gets a new secret, also if the address stays."
          name="url"
          type="url"
          defaultValue={url}
          error={problemOf('url')}
          required
        />
      )}
    </FormDialog>
  );
}

const COLUMNS = ['Raised', 'Reached', 'It was', 'Webhook'];

function RaisedPart() {
  const params = useParams();
  const list = useInfiniteQuery({
    queryKey: ['raised alerts', params.workspace_id],
    queryFn: ({ pageParam: before }) => callRoute(routes.listAlerts, { params: { ...params, before } }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next }) => next ?? undefined,
    refetchInterval: ({ state: { data } }) =>
      data?.pages.some(({ alerts }) => alerts.some(({ delivery }) => delivery?.state === 'waiting')) ? POLL_MS : false,
  });
  const alerts = list.data?.pages.flatMap((page) => page.alerts) ?? [];
  return (
    <Part title="Raised alerts">
      <Loaded query={list}>
        {() =>
          alerts.length === 0 ? (
            <Text>There are none so far.</Text>
          ) : (
            <>
              <WideTable label="Raised alerts" columns={COLUMNS}>
                {alerts.map((alert) => (
                  <tr key={alert.alert_id}>
                    <td>
                      <Moment at={alert.raised_at} />
                    </td>
                    <td>
                      <Reached alert={alert} />
                    </td>
                    <td>
                      <Usd nano={BigInt(alert.value_nano_usd)} />
                    </td>
                    <td>{alert.delivery === null ? 'None' : <Webhook delivery={alert.delivery} />}</td>
                  </tr>
                ))}
              </WideTable>
              <Older query={list}>Show older alerts</Older>
            </>
          )
        }
      </Loaded>
    </Part>
  );
}

const LIMITS: Record<Alert['kind'], string> = { budget: 'of the budget of', cap: 'of the cap of', balance: '' };

function Reached({ alert: { kind, percent, month, limit_nano_usd: limit, raised_at: at } }: { alert: Alert }) {
  return (
    <>
      {percent === null ? 'A balance below' : `${percent} % ${LIMITS[kind]}`} <Usd nano={BigInt(limit)} />
      {month !== null && !at.startsWith(month) && ` for ${month}`}
    </>
  );
}

const STATES: Record<Delivery['state'], string> = {
  waiting: 'On its way',
  delivered: 'Delivered',
  given_up: 'Given up',
};

/** The state of a webhook, with what its last attempt met. */
function Webhook({
  delivery: { url, state, attempts, last_status: status, last_error: error },
}: {
  delivery: Delivery;
}) {
  const last = status === null ? error : `answered ${status}`;
  return (
    <>
      {STATES[state]}
      <Text size="xs" c="dimmed" style={{ overflowWrap: 'anywhere' }}>
        {attempts === 1 ? '1 attempt' : `${attempts} attempts`} to {url}
        {last === null ? '' : `. The last one: ${last.replaceAll('_', ' ')}.`}
      </Text>
    </>
  );
}
