import { Button, Group, Stack, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { callRoute } from '@turnpike/console-api/callRoute';
import { useState } from 'react';
import { passkeysQuery, routes } from '../account.ts';
import { addPasskey, hasPasskeys } from '../passkeys.ts';
import { useChange } from './change.tsx';
import { ConfirmDialog, NameDialog } from './dialogs.tsx';
import { Empty, Loaded, Moment, Name } from './states.tsx';
import { RowButton, WideTable } from './WideTable.tsx';

interface Passkey {
  passkey_id: string;
  name: string;
}

/** The passkeys of the user, with what adds, renames and removes them. */
export function Passkeys() {
  const query = useQuery(passkeysQuery);
  const [isAdding, setAdding] = useState(false);
  const [renamed, setRenamed] = useState<Passkey>();
  const [removed, setRemoved] = useState<Passkey>();
  const add = hasPasskeys && (
    <Button variant="default" onClick={() => setAdding(true)}>
      Add a passkey
    </Button>
  );
  return (
    <Stack>
      <Group justify="space-between">
        <Title order={2} size="h3">
          Passkeys
        </Title>
        {query.data !== undefined && query.data.passkeys.length > 0 && add}
      </Group>
      <Loaded query={query}>
        {({ passkeys }) =>
          passkeys.length === 0 ? (
            <Empty>
              <Text>
                You have no passkey yet. A passkey signs you in by your fingerprint, face or PIN, without a mail.
              </Text>
              {add}
            </Empty>
          ) : (
            <WideTable label="Passkeys" columns={['Name', 'Added', 'Last used', 'Actions']}>
              {passkeys.map((passkey) => (
                <tr key={passkey.passkey_id}>
                  <td>
                    <Name>{passkey.name}</Name>
                  </td>
                  <td>
                    <Moment at={passkey.created_at} />
                  </td>
                  <td>{passkey.used_at === null ? 'Not yet' : <Moment at={passkey.used_at} />}</td>
                  <td>
                    <Group gap="xs" wrap="nowrap">
                      <RowButton label={`Rename the passkey ${passkey.name}`} onClick={() => setRenamed(passkey)}>
                        Rename
                      </RowButton>
                      <RowButton label={`Remove the passkey ${passkey.name}`} onClick={() => setRemoved(passkey)}>
                        Remove
                      </RowButton>
                    </Group>
                  </td>
                </tr>
              ))}
            </WideTable>
          )
        }
      </Loaded>
      {isAdding && <Add onClose={() => setAdding(false)} />}
      {renamed && <Rename passkey={renamed} onClose={() => setRenamed(undefined)} />}
      {removed && <Remove passkey={removed} onClose={() => setRemoved(undefined)} />}
    </Stack>
  );
}

function Add({ onClose }: { onClose: () => void }) {
  const add = useChange(({ name }: { name: string }) => addPasskey(name), { onDone: onClose });
  return (
    <NameDialog
      title="Add a passkey"
      action="Add passkey"
      description="Your browser asks for the passkey next."
      change={add}
      onClose={onClose}
    />
  );
}

function Rename({ passkey: { passkey_id, name }, onClose }: { passkey: Passkey; onClose: () => void }) {
  const rename = useChange(
    (body: { name: string }) => callRoute(routes.renamePasskey, { params: { passkey_id }, body }),
    { onDone: onClose },
  );
  return <NameDialog title="Rename the passkey" action="Rename" name={name} change={rename} onClose={onClose} />;
}

function Remove({ passkey: { passkey_id, name }, onClose }: { passkey: Passkey; onClose: () => void }) {
  const remove = useChange(() => callRoute(routes.removePasskey, { params: { passkey_id } }), { onDone: onClose });
  return (
    <ConfirmDialog title="Remove a passkey" action="Remove" change={remove} onClose={onClose}>
      <Name>{name}</Name> signs you in no more. Your sessions go on.
    </ConfirmDialog>
  );
}
