import { Button, NativeSelect, Stack, Text } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { callRoute } from '@turnpike/console-api/callRoute';
import { createContext, type ReactNode, useContext, useState } from 'react';
import { passkeysQuery, providersQuery, routes, userQuery } from '../account.ts';
import { hasPasskeys, stepUpByPasskey } from '../passkeys.ts';
import { Dialog } from './Dialog.tsx';
import { useNews } from './news.ts';
import { Failed } from './states.tsx';

type AskForProof = (goOn: () => void) => void;
const ProofContext = createContext<AskForProof>(() => undefined);
export const useProof = (): AskForProof => useContext(ProofContext);

/** Shows the dialog for a change that needs a recent proof of the user. */
export function StepUpProvider({ children }: { children: ReactNode }) {
  const [waiting, setWaiting] = useState<{ goOn: () => void }>();
  const close = () => setWaiting(undefined);
  return (
    <ProofContext value={(goOn) => setWaiting({ goOn })}>
      {children}
      {waiting && (
        <StepUp
          onClose={close}
          goOn={() => {
            close();
            waiting.goOn();
          }}
        />
      )}
    </ProofContext>
  );
}

function StepUp({ onClose, goOn }: { onClose: () => void; goOn: () => void }) {
  const user = useQuery(userQuery);
  const providers = useQuery(providersQuery);
  const addresses = user.data?.addresses ?? [];
  const [chosen, setChosen] = useState<string>();
  const address = chosen ?? addresses[0] ?? '';
  const mail = useMutation({ mutationFn: () => callRoute(routes.mailStepUpLink, { body: { address } }) });
  const leave = useMutation({
    mutationFn: (id: string) => callRoute(routes.stepUpByOidc, { body: { provider_id: id } }),
    onSuccess: ({ url }) => location.assign(url),
  });
  const passkeys = useQuery(passkeysQuery);
  const prove = useMutation({ mutationFn: stepUpByPasskey, onSuccess: goOn });
  const error = mail.error ?? leave.error ?? prove.error;
  useNews('proved', goOn);

  return (
    <Dialog title="Confirm that it is you" onClose={onClose}>
      <Text>Confirm who you are, then this change goes on. A confirmation counts for 10 minutes.</Text>
      {error && <Failed message={error.message} />}
      {mail.isSuccess ? (
        <Stack gap="sm" role="status">
          <Text>
            The link is on its way to <b>{address}</b>. Open it in this browser within 15 minutes; this page then goes
            on by itself.
          </Text>
          <Button onClick={goOn}>I have opened the link</Button>
        </Stack>
      ) : (
        <Stack gap="sm">
          {addresses.length > 1 && (
            <NativeSelect
              label="Address"
              data={addresses}
              value={address}
              onChange={({ currentTarget }) => setChosen(currentTarget.value)}
            />
          )}
          {hasPasskeys && passkeys.data !== undefined && passkeys.data.passkeys.length > 0 && (
            <Button onClick={() => prove.mutate()} loading={prove.isPending}>
              Confirm by a passkey
            </Button>
          )}
          <Button onClick={() => mail.mutate()} loading={mail.isPending} disabled={address === ''}>
            Mail me a link
          </Button>
          {providers.data?.providers.map(({ provider_id: id, name }) => (
            <Button key={id} variant="default" onClick={() => leave.mutate(id)} loading={leave.isPending}>
              Confirm by {name}
            </Button>
          ))}
        </Stack>
      )}
      <Button variant="default" onClick={onClose}>
        Cancel
      </Button>
    </Dialog>
  );
}
