import { Button, Group, Stack, Table, Text, TextInput, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { callRoute } from '@turnpike/console-api/callRoute';
import { useState } from 'react';
import { passkeysQuery, routes } from '../account.ts';
import { addPasskey, hasPasskeys } from '../passkeys.ts';
import { Failure, useChange, useForm } from './change.tsx';
import { Choice, Dialog } from './Dialog.tsx';
import { Empty, Loaded, Moment, Name, WideTable } from './states.tsx';

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
            <WideTable label="Passkeys">
              <Table verticalSpacing="sm">
                <Table.Thead>
                  <Table.Tr>
                    <Table.Th scope="col">Name</Table.Th>
                    <Table.Th scope="col">Added</Table.Th>
                    <Table.Th scope="col">Last used</Table.Th>
                    <Table.Th scope="col">Actions</Table.Th>
                  </Table.Tr>
                </Table.Thead>
                <Table.Tbody>
                  {passkeys.map((passkey) => (
                    <Table.Tr key={passkey.passkey_id}>
                      <Table.Td>
                        <Name>{passkey.name}</Name>
                      </Table.Td>
                      <Table.Td>
                        <Moment at={passkey.created_at} />
                      </Table.Td>
                      <Table.Td>{passkey.used_at === null ? 'Not yet' : <Moment at={passkey.used_at} />}</Table.Td>
                      <Table.Td>
                        <Group gap="xs" wrap="nowrap">
                          <Button
                            size="xs"
                            variant="default"
                            aria-label={`Rename the passkey ${passkey.name}`}
                            onClick={() => setRenamed(passkey)}
                          >
                            Rename
                          </Button>
                          <Button
                            size="xs"
                            variant="default"
                            aria-label={`Remove the passkey ${passkey.name}`}
                            onClick={() => setRemoved(passkey)}
                          >
                            Remove
                          </Button>
                        </Group>
                      </Table.Td>
                    </Table.Tr>
                  ))}
                </Table.Tbody>
              </Table>
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
  const { onSubmit, problemOf } = useForm(routes.renamePasskey.body, add);
  return (
    <Dialog title="Add a passkey" onClose={onClose}>
      <form onSubmit={onSubmit} noValidate>
        <Stack>
          <TextInput
            label="Name"
            description="Your browser asks for the passkey next."
            name="name"
            error={problemOf('name')}
            required
          />
          <Failure error={add.error} />
          <Choice type="submit" isPending={add.isPending} onClose={onClose}>
            Add passkey
          </Choice>
        </Stack>
      </form>
    </Dialog>
  );
}

function Rename({ passkey: { passkey_id, name }, onClose }: { passkey: Passkey; onClose: () => void }) {
  const rename = useChange(
    (body: { name: string }) => callRoute(routes.renamePasskey, { params: { passkey_id }, body }),
    { onDone: onClose },
  );
  const { onSubmit, problemOf } = useForm(routes.renamePasskey.body, rename);
  return (
    <Dialog title="Rename the passkey" onClose={onClose}>
      <form onSubmit={onSubmit} noValidate>
        <Stack>
          <TextInput label="Name" name="name" defaultValue={name} error={problemOf('name')} required />
          <Failure error={rename.error} />
          <Choice type="submit" isPending={rename.isPending} onClose={onClose}>
            Rename
          </Choice>
        </Stack>
      </form>
    </Dialog>
  );
}

function Remove({ passkey: { passkey_id, name }, onClose }: { passkey: Passkey; onClose: () => void }) {
  const remove = useChange(() => callRoute(routes.removePasskey, { params: { passkey_id } }), { onDone: onClose });
  return (
    <Dialog title="Remove a passkey" onClose={onClose}>
      <Text>
        <Name>{name}</Name> signs you in no more. Your sessions go on.
      </Text>
      <Failure error={remove.error} />
      <Choice color="red" isPending={remove.isPending} onClick={() => remove.mutate(undefined)} onClose={onClose}>
        Remove
      </Choice>
    </Dialog>
  );
}
