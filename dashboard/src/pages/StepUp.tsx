import { Button, Stack, Text } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { Link, useLocation } from '@tanstack/react-router';
import { callRoute } from '@turnpike/console-api/callRoute';
import { PAGES } from '@turnpike/console-api/pages';
import { routes } from '../account.ts';
import { announce } from '../shell/news.ts';
import { PublicPage } from '../shell/PublicPage.tsx';
import { Failed } from '../shell/states.tsx';

/** The page of a mailed link that proves the session anew. */
export function StepUpByLink() {
  const token = useLocation({ select: ({ hash }) => hash });
  const prove = useMutation({
    mutationFn: () => callRoute(routes.stepUpByLink, { body: { token } }),
    onSuccess: () => announce('proved'),
  });
  return (
    <PublicPage title="Confirm that it is you">
      {prove.error && <Failed message={prove.error.message} />}
      {prove.isSuccess ? (
        <Text role="status">
          Confirmed for 10 minutes. Go back to the page on which you were, or{' '}
          <Link to={PAGES.start} className="link">
            go on to the dashboard
          </Link>
          .
        </Text>
      ) : (
        <Stack>
          <Text>If you asked for this confirmation in this browser, confirm it. Otherwise close this page.</Text>
          <Button autoFocus loading={prove.isPending} disabled={token === ''} onClick={() => prove.mutate()}>
            Confirm
          </Button>
        </Stack>
      )}
    </PublicPage>
  );
}
