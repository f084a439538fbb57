import { Badge, Button, Code, Group, Paper, Stack, Text, TextInput, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import { REGIONS, type Region } from '@turnpike/config/region';
import { callRoute } from '@turnpike/console-api/callRoute';
import { PAGES } from '@turnpike/console-api/pages';
import { hasRight } from '@turnpike/console-api/roles';
import { useState } from 'react';
import { organizationQuery, routes, workspacesQuery } from '../account.ts';
import { useChange } from '../shell/change.tsx';
import { FormDialog } from '../shell/dialogs.tsx';
import { Loaded, Moment, Name, Page } from '../shell/states.tsx';

const REGION_NAMES: Record<Region, string> = { us: 'United States', eu: 'European Union' };

/** The workspaces of an organization: for each region the workspace, or a button that creates it. */
export function Workspaces() {
  const { organizationId } = useParams({ from: `/shell${PAGES.workspaces}` });
  const organization = useQuery(organizationQuery(organizationId));
  const query = useQuery(workspacesQuery(organizationId));
  const [region, setRegion] = useState<Region>();
  const mayWrite = organization.data !== undefined && hasRight(organization.data.role, 'workspaces.write');
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
                      <Badge variant="default">{name}</Badge>
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
