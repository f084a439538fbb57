import { Button, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { callRoute } from '@turnpike/console-api/callRoute';
import { PAGES } from '@turnpike/console-api/pages';
import { hasRight } from '@turnpike/console-api/roles';
import { useState } from 'react';
import { organizationsQuery, routes } from '../account.ts';
import { useChange } from '../shell/change.tsx';
import { NameDialog } from '../shell/dialogs.tsx';
import { ROLE_NAMES } from '../shell/roleNames.ts';
import { Badge, Empty, Loaded, Moment, Name, Page } from '../shell/states.tsx';
import { RowButton, WideTable } from '../shell/WideTable.tsx';

/** The organizations of the user: the user opens, creates and renames them here. */
export function Organizations() {
  const query = useQuery(organizationsQuery);
  const [isCreating, setCreating] = useState(false);
  const [renamed, setRenamed] = useState<{ organization_id: string; name: string }>();
  return (
    <Page
      title="Organizations"
      action={
        query.data !== undefined &&
        query.data.organizations.length > 0 && <Button onClick={() => setCreating(true)}>New organization</Button>
      }
    >
      <Loaded query={query}>
        {({ organizations }) =>
          organizations.length === 0 ? (
            <Empty>
              <Text>
                You are not a member of an organization yet. Create your own, or open the link of an invitation in your
                mail.
              </Text>
              <Button onClick={() => setCreating(true)}>Create an organization</Button>
            </Empty>
          ) : (
            <WideTable label="Organizations" columns={['Name', 'Your role', 'Created', 'Actions']}>
              {organizations.map(({ organization_id: organizationId, name, role, created_at: at }) => (
                <tr key={organizationId}>
                  <td>
                    <Link to={PAGES.workspaces} params={{ organizationId }} className="link">
                      <Name>{name}</Name>
                    </Link>
                  </td>
                  <td>
                    <Badge>{ROLE_NAMES[role]}</Badge>
                  </td>
                  <td>
                    <Moment at={at} />
                  </td>
                  <td>
                    {hasRight(role, 'organization.write') && (
                      <RowButton
                        label={`Rename ${name}`}
                        onClick={() => setRenamed({ organization_id: organizationId, name })}
                      >
                        Rename
                      </RowButton>
                    )}
                  </td>
                </tr>
              ))}
            </WideTable>
          )
        }
      </Loaded>
      {isCreating && <Create onClose={() => setCreating(false)} />}
      {renamed && <Rename organization={renamed} onClose={() => setRenamed(undefined)} />}
    </Page>
  );
}

function Create({ onClose }: { onClose: () => void }) {
  const navigate = useNavigate();
  const create = useChange((body: { name: string }) => callRoute(routes.createOrganization, { body }), {
    onDone: ({ organization_id: organizationId }) =>
      void navigate({ to: PAGES.workspaces, params: { organizationId } }),
  });
  return (
    <NameDialog
      title="New organization"
      action="Create organization"
      description="You become its owner. The name can be changed later."
      change={create}
      onClose={onClose}
    />
  );
}

function Rename({
  organization: { organization_id, name },
  onClose,
}: {
  organization: { organization_id: string; name: string };
  onClose: () => void;
}) {
  const rename = useChange(
    (body: { name: string }) => callRoute(routes.renameOrganization, { params: { organization_id }, body }),
    { onDone: onClose },
  );
  return <NameDialog title="Rename the organization" action="Rename" name={name} change={rename} onClose={onClose} />;
}
