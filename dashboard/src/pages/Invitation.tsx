import { Button, Stack, Text } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { Link, useLocation, useNavigate } from '@tanstack/react-router';
import { callRoute } from '@turnpike/console-api/callRoute';
import { PAGES } from '@turnpike/console-api/pages';
import { queryClient, routes, userQuery } from '../account.ts';
import { useNews } from '../shell/news.ts';
import { PublicPage } from '../shell/PublicPage.tsx';
import { SignInForm } from '../shell/SignInForm.tsx';
import { Failed, Loading } from '../shell/states.tsx';

/** The page of a mailed invitation. A reader who is not signed in does that first, and this page then goes on by itself. */
export function Invitation() {
  const token = useLocation({ select: ({ hash }) => hash });
  const user = useQuery({ ...userQuery, retry: false });
  const navigate = useNavigate();
  const accept = useMutation({
    mutationFn: () => callRoute(routes.acceptInvitation, { body: { token } }),
    async onSuccess({ organization_id: organizationId }) {
      await queryClient.invalidateQueries();
      await navigate({ to: PAGES.workspaces, params: { organizationId }, replace: true });
    },
  });
  useNews('signed-in', () => void user.refetch());
  if (user.isPending)
    return (
      <PublicPage title="Join an organization">
        <Loading />
      </PublicPage>
    );
  return (
    <PublicPage title="Join an organization">
      {accept.error && <Failed message={accept.error.message} />}
      {user.data ? (
        <Stack>
          <Text>
            You are signed in as <b>{user.data.addresses[0] ?? user.data.name}</b>. The invitation is for the address
            that the mail was sent to.
          </Text>
          <Button autoFocus loading={accept.isPending} disabled={token === ''} onClick={() => accept.mutate()}>
            Accept the invitation
          </Button>
          <Link to={PAGES.organizations} className="link">
            Go to your organizations
          </Link>
        </Stack>
      ) : (
        <Stack>
          <Text>
            Sign in with the address that the invitation was sent to, and keep this page open: it goes on once you are
            signed in.
          </Text>
          <SignInForm onSignedIn={() => queryClient.invalidateQueries()} />
        </Stack>
      )}
    </PublicPage>
  );
}
