import { Button, Group, Paper, Stack, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { callRoute } from '@turnpike/console-api/callRoute';
import { providersQuery, routes, sessionsQuery, userQuery } from '../account.ts';
import { Failure, useChange } from '../shell/change.tsx';
import { Passkeys } from '../shell/Passkeys.tsx';
import { Badge, Loaded, Moment, Name, Page } from '../shell/states.tsx';
import { RowButton, WideTable } from '../shell/WideTable.tsx';

/** The sessions of the user, the passkeys, and the other ways to sign in. */
export function Sessions() {
  const query = useQuery(sessionsQuery);
  const end = useChange((sessionId: string) => callRoute(routes.endSession, { params: { session_id: sessionId } }));
  return (
    <Page title="Sessions">
      <Text c="dimmed">A session ends 7 days after it began, or after 12 hours without a request.</Text>
      <Failure error={end.error} />
      <Loaded query={query}>
        {({ sessions }) => (
          <WideTable label="Sessions" columns={['Browser', 'From', 'Began', 'Last seen', 'Ends', 'Actions']}>
            {sessions.map((session) => (
              <tr key={session.session_id}>
                <td title={session.browser}>{toBrowserName(session.browser)}</td>
                <td>{session.address}</td>
                <td>
                  <Moment at={session.created_at} />
                </td>
                <td>
                  <Moment at={session.seen_at} />
                </td>
                <td>
                  <Moment at={session.ends_at} />
                </td>
                <td>
                  {session.is_current ? (
                    <Badge>This session</Badge>
                  ) : (
                    <RowButton
                      label={`End the session of ${toBrowserName(session.browser)} from ${session.address}`}
                      loading={end.isPending && end.variables === session.session_id}
                      onClick={() => end.mutate(session.session_id)}
                    >
                      End
                    </RowButton>
                  )}
                </td>
              </tr>
            ))}
          </WideTable>
        )}
      </Loaded>
      <Passkeys />
      <WaysToSignIn />
    </Page>
  );
}

function WaysToSignIn() {
  const user = useQuery(userQuery);
  const providers = useQuery(providersQuery);
  const link = useChange((id: string) => callRoute(routes.linkOidc, { body: { provider_id: id } }), {
    onDone: ({ url }) => location.assign(url),
  });
  return (
    <Stack>
      <Title order={2} size="h3">
        Other ways to sign in
      </Title>
      <Paper withBorder p="lg">
        <Stack>
          <Text>
            A mailed link to{' '}
            {user.data?.addresses.map((address, index) => (
              <span key={address}>
                {index > 0 && ', '}
                <Name>{address}</Name>
              </span>
            ))}
          </Text>
          {providers.data?.providers.map(({ provider_id: id, name }) => (
            <Group key={id}>
              <Button variant="default" loading={link.isPending} onClick={() => link.mutate(id)}>
                Link {name}
              </Button>
            </Group>
          ))}
          <Failure error={link.error} />
        </Stack>
      </Paper>
    </Stack>
  );
}

/** Browsers name themselves after each other: the first of these that a browser names is its own name. */
const BROWSERS = ['Edg', 'OPR', 'Firefox', 'Chrome', 'Safari'];
const NAMES: Record<string, string> = { Edg: 'Edge', OPR: 'Opera' };
const SYSTEMS = ['Android', 'iPhone', 'iPad', 'Windows', 'Mac OS X', 'Linux'];

function toBrowserName(userAgent: string): string {
  const browser = BROWSERS.find((name) => userAgent.includes(`${name}/`));
  const system = SYSTEMS.find((name) => userAgent.includes(name));
  if (browser === undefined) return 'Another program';
  return `${NAMES[browser] ?? browser}${system === undefined ? '' : ` on ${system}`}`;
}
