import { Button, Group, Text } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { Link, Outlet } from '@tanstack/react-router';
import { callRoute } from '@turnpike/console-api/callRoute';
import { PAGES } from '@turnpike/console-api/pages';
import { routes, userQuery } from '../account.ts';
import { ColorScheme } from './ColorScheme.tsx';
import { Failure } from './change.tsx';
import { Loaded, Name } from './states.tsx';

/** The frame around the pages of a signed-in user: links to pages, the address of the user, and the button to sign out. */
export function Shell() {
  const user = useQuery(userQuery);
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
        <nav aria-label="Pages" className="shell-nav">
          <Link to={PAGES.sessions}>Sessions</Link>
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
        <Loaded query={user}>{() => <Outlet />}</Loaded>
      </main>
    </div>
  );
}
