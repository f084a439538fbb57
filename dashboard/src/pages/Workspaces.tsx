import { Button, Group, Paper, Stack, Text, TextInput, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import { REGIONS, type Region } from '@turnpike/config/region';
import { callRoute } from '@turnpike/console-api/callRoute';
import { PAGES } from '@turnpike/console-api/pages';
import { hasRight } from '@turnpike/console-api/roles';
import { useState } from 'react';
import * as z from 'zod/mini';
import { organizationQuery, REGION_NAMES, routes, workspacesQuery } from '../account.ts';
import { useChange } from '../shell/change.tsx';
import { FormDialog } from '../shell/dialogs.tsx';
import { Badge, Code, Loaded, Moment, Name, Page, Usd } from '../shell/states.tsx';
import { toUsdField, usdField } from '../usd.ts';

type Changed = z.output<typeof routes.changeWorkspace.answer>;

const STATUS_NAMES: Record<Changed['status'], string> = {
  active: 'Active.',
  on_hold: 'On hold: every call is refused.',
  not_provisioned: 'Without credit so far: calls that cost are refused.',
};

/** The workspaces of an organization: for each region the workspace, or a button that creates it. */
export function Workspaces() {
  const { organizationId } = useParams({ from: `/shell${PAGES.workspaces}` });
  const organization = useQuery(organizationQuery(organizationId));
  const query = useQuery(workspacesQuery(organizationId));
  const [region, setRegion] = useState<Region>();
  const [changed, setChanged] = useState<Changed>();
  const mayWrite = organization.data !== undefined && hasRight(organization.data.role, 'workspaces.write');
  const mayChange = organization.data !== undefined && hasRight(organization.data.role, 'workspaces.change');
  return (
    <Page title="Workspaces">
      <Text c="dimmed">
        An organization has at most one workspace in each region. Its keys, prompts and usage stay in that region.
      </Text>
      <Loaded query={query}>
        {({ workspaces }) =>
          REGIONS.map((name) => {
            const workspace = workspaces.find(({ region: place }) => place === name);
            return (
              <Paper key={name} withBorder p="lg" component="section" aria-label={REGION_NAMES[name]}>
                <Group justify="space-between" align="flex-start">
                  <Stack gap="xs" style={{ minWidth: 0, flex: '1 1 16rem' }}>
                    <Group gap="xs">
                      <Title order={2} size="h4">
                        {REGION_NAMES[name]}
                      </Title>
                      <Badge>{name}</Badge>
                    </Group>
                    {workspace ? (
                      <>
                        <Link
                          to={PAGES.overview}
                          params={{ organizationId, workspaceId: workspace.workspace_id }}
                          className="link"
                        >
                          <Name>{workspace.name}</Name>
                        </Link>
                        <Text>
                          {STATUS_NAMES[workspace.status]}{' '}
                          {workspace.monthly_cap_nano_usd === null ? (
                            'There is no monthly cap.'
                          ) : (
                            <>
                              At most <Usd nano={BigInt(workspace.monthly_cap_nano_usd)} /> a month.
                            </>
                          )}
                        </Text>
                        <Text size="sm" c="dimmed">
                          <Code>{workspace.workspace_id}</Code> created <Moment at={workspace.created_at} />
                        </Text>
                      </>
                    ) : (
                      <Text>
                        {mayWrite
                          ? 'There is no workspace in this region yet.'
                          : 'There is no workspace in this region yet. An owner of the organization can create it.'}
                      </Text>
                    )}
                  </Stack>
                  {workspace && mayChange && (
                    <Button
                      variant="default"
                      onClick={() => setChanged(workspace)}
                      aria-label={`Change workspace in ${REGION_NAMES[name]}`}
                    >
                      Change
                    </Button>
                  )}
                  {!workspace && mayWrite && (
                    <Button onClick={() => setRegion(name)} aria-label={`Create workspace in ${REGION_NAMES[name]}`}>
                      Create workspace
                    </Button>
                  )}
                </Group>
              </Paper>
            );
          })
        }
      </Loaded>
      {region && <Create organizationId={organizationId} region={region} onClose={() => setRegion(undefined)} />}
      {changed && <Change organizationId={organizationId} workspace={changed} onClose={() => setChanged(undefined)} />}
    </Page>
  );
}

function Create({ organizationId, region, onClose }: { organizationId: string; region: Region; onClose: () => void }) {
  const create = useChange(
    (body: { name: string; region: Region }) =>
      callRoute(routes.createWorkspace, { params: { organization_id: organizationId }, body }),
    { onDone: onClose },
  );
  return (
    <FormDialog
      title={`Workspace in ${REGION_NAMES[region]}`}
      action="Create for good"
      schema={routes.createWorkspace.body}
      change={create}
      onClose={onClose}
    >
      {(problemOf) => (
        <>
          <Text>
            <b>A workspace is permanent.</b> It cannot be deleted or moved to another region, and an organization has
            only one in each region.
          </Text>
          <input type="hidden" name="region" value={region} />
          <TextInput label="Name" name="name" error={problemOf('name')} required />
        </>
      )}
    </FormDialog>
  );
}

const changeFormSchema = z.object({
  name: routes.createWorkspace.body.shape.name,
  monthly_cap_nano_usd: usdField,
});

/** Sends the changed fields alone, so that the form sets no field to what it has read long ago. */
function Change({
  organizationId,
  workspace,
  onClose,
}: {
  organizationId: string;
  workspace: Changed;
  onClose: () => void;
}) {
  const [{ workspace_id: workspaceId, name, monthly_cap_nano_usd: cap }] = useState(workspace);
  const change = useChange(
    async (fields: z.output<typeof changeFormSchema>) => {
      const body = {
        ...(fields.name !== name && { name: fields.name }),
        ...(fields.monthly_cap_nano_usd !== cap && { monthly_cap_nano_usd: fields.monthly_cap_nano_usd }),
      };
      if (Object.keys(body).length === 0) return;
      await callRoute(routes.changeWorkspace, {
        params: { organization_id: organizationId, workspace_id: workspaceId },
        body,
      });
    },
    { onDone: onClose },
  );
  return (
    <FormDialog title="Change the workspace" action="Save" schema={changeFormSchema} change={change} onClose={onClose}>
      {(problemOf) => (
        <>
          <TextInput label="Name" name="name" defaultValue={name} error={problemOf('name')} required />
          <TextInput
            label="Monthly cap in dollars"
            description="The most that all keys together may spend in a calendar month (UTC). Empty means no cap. It applies within 5 seconds."
            name="monthly_cap_nano_usd"
            inputMode="decimal"
            defaultValue={toUsdField(cap)}
            error={problemOf('monthly_cap_nano_usd')}
          />
        </>
      )}
    </FormDialog>
  );
}
