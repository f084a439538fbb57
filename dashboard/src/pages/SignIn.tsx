import { Button, Stack, Text } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { Link, useLocation, useNavigate, useSearch } from '@tanstack/react-router';
import { callRoute } from '@turnpike/console-api/callRoute';
import { PAGES, type SignInError } from '@turnpike/console-api/pages';
import { queryClient, routes, userQuery } from '../account.ts';
import { announce } from '../shell/news.ts';
import { PublicPage } from '../shell/PublicPage.tsx';
import { SignInForm } from '../shell/SignInForm.tsx';
import { Failed } from '../shell/states.tsx';

const SENTENCES: Record<SignInError, string> = {
  sign_in_is_over: 'This sign-in took over 10 minutes, or began in another browser. Begin anew.',
  provider_refused: 'The identity provider did not confirm who you are. Try again, or sign in by mail.',
  address_not_verified: 'Your identity provider has not verified your address. Verify it there, or sign in by mail.',
  sign_in_and_link_instead:
    'Your address has an account here already. Sign in by mail, then link the identity provider on the page Sessions.',
  identity_is_taken: 'This identity belongs to another account here. Sign out, then sign in with it.',
  another_user:
    'The identity provider confirmed another user than the one who is signed in here. Try again as that user.',
};

/** The page of a mailed link if the address has a token behind `#`; else the choice between the ways to sign in. */
export function SignIn() {
  const token = useLocation({ select: ({ hash }) => hash });
  const enter = useEntry();
  const { error } = useSearch({ from: PAGES.signIn });
  const { data: user } = useQuery({ ...userQuery, retry: false });
  return (
    <PublicPage title="Sign in">
      {error && <Failed message={SENTENCES[error]} />}
      {user && (
        <Text>
          You are signed in as <b>{user.addresses[0] ?? user.name}</b>.{' '}
          <Link to={PAGES.start} className="link">
            Go on to the dashboard
          </Link>
        </Text>
      )}
      {token === '' && (
        <Link to={PAGES.models} className="link">
          See models and prices
        </Link>
      )}
      {token === '' ? <SignInForm onSignedIn={enter} /> : <ByLink key={token} token={token} />}
    </PublicPage>
  );
}

/** Returns what follows a sign-in: nothing of an earlier session stays, other tabs go on, and the dashboard opens. */
function useEntry() {
  const navigate = useNavigate();
  return async () => {
    queryClient.clear();
    announce('signed-in');
    await navigate({ to: PAGES.start, replace: true });
  };
}

/** Waits for a click, so that a scanner of mails that opens the link does not use it up. */
function ByLink({ token }: { token: string }) {
  const enter = useEntry();
  const signIn = useMutation({
    mutationFn: () => callRoute(routes.signInByLink, { body: { token } }),
    onSuccess: enter,
  });
  if (signIn.error)
    return (
      <Stack>
        <Failed message={signIn.error.message} />
        <SignInForm onSignedIn={enter} />
      </Stack>
    );
  return (
    <Stack>
      <Text>Your link is here. One click signs you in, in this browser.</Text>
      <Button autoFocus loading={signIn.isPending} onClick={() => signIn.mutate()}>
        Sign in now
      </Button>
    </Stack>
  );
}
