import { Button, Group, Text } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { Link, Outlet, useLocation, useParams } from '@tanstack/react-router';
import { callRoute } from '@turnpike/console-api/callRoute';
import { PAGES } from '@turnpike/console-api/pages';
import { hasRight } from '@turnpike/console-api/roles';
import { useState } from 'react';
import { organizationQuery, routes, userQuery } from '../account.ts';
import { ColorScheme } from './ColorScheme.tsx';
import { Failure } from './change.tsx';
import { Loaded, Name } from './states.tsx';
import { WorkspaceLinks } from './workspace.tsx';

/** The frame around the pages of a signed-in user: links to pages, the address of the user, and the button to sign out. */
export function Shell() {
  const user = useQuery(userQuery);
  const { organizationId } = useParams({ strict: false });
  const shown = useLocation({ select: ({ pathname }) => pathname });
  // A narrow window has the links behind a button, until one leads to another page.
  const [openAt, setOpenAt] = useState<string>();
  const isOpen = openAt === shown;
  const signOut = useMutation({
    mutationFn: () => callRoute(routes.signOut),
    onSuccess: () => location.assign(PAGES.signIn),
  });
  return (
    <div className="shell">
      <header className="shell-side">
        <Link to={PAGES.start} className="shell-brand">
          Turnpike
        </Link>
        <button
          type="button"
          className="row-button shell-menu"
          aria-expanded={isOpen}
          aria-controls="pages"
          onClick={() => setOpenAt(isOpen ? undefined : shown)}
        >
          Menu
        </button>
        <nav id="pages" aria-label="Pages" className="shell-nav">
          {organizationId !== undefined && <OrganizationLinks organizationId={organizationId} />}
          <Link to={PAGES.organizations} activeOptions={{ exact: true }}>
            Organizations
          </Link>
          <Link to={PAGES.sessions}>Sessions</Link>
          <Link to={PAGES.models}>Models</Link>
        </nav>
        <div className="shell-user">
          {user.data && (
            <Text size="sm" c="dimmed" className="shell-address">
              Signed in as <Name>{user.data.addresses[0] ?? user.data.name}</Name>
            </Text>
          )}
          <Group gap="xs">
            <ColorScheme />
            <Button size="xs" variant="default" loading={signOut.isPending} onClick={() => signOut.mutate()}>
              Sign out
            </Button>
          </Group>
          <Failure error={signOut.error} />
        </div>
      </header>
      <main className="shell-main">
        <Loaded query={user}>{() => <Outlet key={organizationId} />}</Loaded>
      </main>
    </div>
  );
}

function OrganizationLinks({ organizationId }: { organizationId: string }) {
  const { data } = useQuery(organizationQuery(organizationId));
  const params = { organizationId };
  return (
    <>
      <span className="shell-heading">
        <Name>{data?.name ?? ''}</Name>
      </span>
      <Link to={PAGES.workspaces} params={params} activeOptions={{ exact: true }}>
        Workspaces
      </Link>
      <Link to={PAGES.members} params={params}>
        Members
      </Link>
      {data && hasRight(data.role, 'audit.read') && (
        <Link to={PAGES.audit} params={params}>
          Audit
        </Link>
      )}
      {data && <WorkspaceLinks organizationId={organizationId} role={data.role} />}
      <hr />
    </>
  );
}
