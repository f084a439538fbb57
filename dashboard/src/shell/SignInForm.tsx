import { Button, Stack, Text, TextInput } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { callRoute } from '@turnpike/console-api/callRoute';
import { providersQuery, routes } from '../account.ts';
import { hasPasskeys, signInByPasskey } from '../passkeys.ts';
import { Failure, useForm } from './change.tsx';

/** The ways to sign in: a mailed link, a passkey, and the identity providers. */
export function SignInForm({ onSignedIn }: { onSignedIn: () => Promise<void> }) {
  const providers = useQuery(providersQuery);
  const mail = useMutation({
    mutationFn: (body: { address: string }) => callRoute(routes.mailLink, { body }),
  });
  const leave = useMutation({
    mutationFn: (id: string) => callRoute(routes.beginOidc, { body: { provider_id: id } }),
    onSuccess: ({ url }) => location.assign(url),
  });
  const enter = useMutation({ mutationFn: signInByPasskey, onSuccess: onSignedIn });
  const { onSubmit, problemOf } = useForm(routes.mailLink.body, mail);
  if (mail.isSuccess)
    return (
      <Stack role="status">
        <Text>
          If <b>{mail.variables.address}</b> can receive mail, a link is on its way. It works once, for 15 minutes.
        </Text>
        <Button variant="default" onClick={() => mail.reset()}>
          Use another address
        </Button>
      </Stack>
    );
  return (
    <Stack>
      <form onSubmit={onSubmit} noValidate>
        <Stack>
          <TextInput
            label="E-mail address"
            description="Turnpike mails you a link that signs you in. A new address gets an account."
            name="address"
            type="email"
            autoComplete="email"
            error={problemOf('address')}
            required
          />
          <Failure error={mail.error} />
          <Button type="submit" loading={mail.isPending}>
            Mail me a link
          </Button>
        </Stack>
      </form>
      {hasPasskeys && (
        <Button variant="default" onClick={() => enter.mutate()} loading={enter.isPending}>
          Sign in with a passkey
        </Button>
      )}
      <Failure error={enter.error} />
      {providers.data?.providers.map(({ provider_id: id, name }) => (
        <Button key={id} variant="default" onClick={() => leave.mutate(id)} loading={leave.isPending}>
          Continue with {name}
        </Button>
      ))}
      {providers.error && (
        <Text size="sm" c="dimmed">
          The identity providers cannot be listed at the moment. A mailed link works without them.
        </Text>
      )}
      <Failure error={leave.error} />
    </Stack>
  );
}
