import { Badge, Button, Code, Group, NativeSelect, Table, Text, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Refused } from '@turnpike/console-api/callRoute';
import { PAGES } from '@turnpike/console-api/pages';
import { hasRight } from '@turnpike/console-api/roles';
import { useState } from 'react';
import type * as z from 'zod/mini';
import { makeApiKey } from '../apiKey.ts';
import { callConsole, type Key, keyRoutes, monthByKeyQuery, useKeys } from '../console.ts';
import { Failure, useChange } from '../shell/change.tsx';
import { Dialog } from '../shell/Dialog.tsx';
import { ConfirmDialog, FormDialog } from '../shell/dialogs.tsx';
import { KeyFields, keyFormSchema } from '../shell/KeyFields.tsx';
import { Snippet } from '../shell/Snippet.tsx';
import { Empty, Loaded, Moment, Name, Page, Usd } from '../shell/states.tsx';
import { RowButton, WideTable } from '../shell/WideTable.tsx';
import { useNewSecret, useWorkspace } from '../shell/workspace.tsx';

/** Rows that the table shows at a time. */
const ROWS = 50;
const STATES = ['active', 'blocked', 'expired', 'revoked'] as const;
type State = (typeof STATES)[number];
const STATE_NAMES: Record<State, string> = {
  active: 'Active',
  blocked: 'Blocked',
  expired: 'Expired',
  revoked: 'Revoked',
};

const stateOf = ({ status, expires_at: expiresAt }: Key): State =>
  status === 'active' && expiresAt !== null && Date.parse(expiresAt) <= Date.now() ? 'expired' : status;

/** The API keys of a workspace: the user finds, creates and revokes them here. */
export function Keys() {
  const workspace = useWorkspace();
  const query = useKeys(workspace);
  const [isCreating, setCreating] = useState(false);
  const [revoked, setRevoked] = useState<Key>();
  const [secret] = useNewSecret();
  const mayWrite = hasRight(workspace.role, 'keys.write');
  const create = mayWrite && <Button onClick={() => setCreating(true)}>Create a key</Button>;
  return (
    <Page title="Keys" action={query.data !== undefined && query.data.length > 0 && create}>
      <Loaded query={query}>
        {(keys) =>
          keys.length === 0 ? (
            <Empty>
              <Text>
                This workspace has no key yet. A key lets a program call the API of this region, at the cost of the
                workspace.
              </Text>
              {create}
            </Empty>
          ) : (
            <KeyTable keys={keys} isComplete={!query.hasNextPage} onRevoke={setRevoked} />
          )
        }
      </Loaded>
      {isCreating && <CreateKey onClose={() => setCreating(false)} />}
      {secret !== undefined && <NewSecret secret={secret} />}
      {revoked && <Revoke apiKey={revoked} onClose={() => setRevoked(undefined)} />}
    </Page>
  );
}

function KeyTable({ keys, isComplete, onRevoke }: { keys: Key[]; isComplete: boolean; onRevoke: (key: Key) => void }) {
  const workspace = useWorkspace();
  const spend = useQuery(monthByKeyQuery(workspace));
  const [words, setWords] = useState('');
  const [state, setState] = useState<State | ''>('');
  const [page, setPage] = useState(0);
  const mayWrite = hasRight(workspace.role, 'keys.write');
  const wanted = words.trim().toLowerCase();
  const found = keys.filter(
    (key) =>
      (key.name.toLowerCase().includes(wanted) || key.last_four.toLowerCase() === wanted) &&
      (state === '' || stateOf(key) === state),
  );
  const shown = found.slice(page * ROWS, (page + 1) * ROWS);
  return (
    <>
      <Group align="flex-end">
        <TextInput
          label="Find by name or last four characters"
          type="search"
          value={words}
          onChange={({ currentTarget }) => {
            setWords(currentTarget.value);
            setPage(0);
          }}
        />
        <NativeSelect
          label="Status"
          data={[{ value: '', label: 'All' }, ...STATES.map((value) => ({ value, label: STATE_NAMES[value] }))]}
          value={state}
          onChange={({ currentTarget }) => {
            setState(STATES.find((name) => name === currentTarget.value) ?? '');
            setPage(0);
          }}
        />
      </Group>
      <WideTable
        label="Keys"
        columns={[
          'Name',
          'Secret',
          'Status',
          'Spent this month',
          'Budget',
          'Limits a minute',
          'Expires',
          'Created',
          'Actions',
        ]}
      >
        {shown.map((key) => (
          <Table.Tr key={key.key_id}>
            <Table.Td>
              <Name>{key.name}</Name>
            </Table.Td>
            <Table.Td>
              <Code>sk-...{key.last_four}</Code>
            </Table.Td>
            <Table.Td>
              <Badge variant="default">{STATE_NAMES[stateOf(key)]}</Badge>
              {key.blocked_by === 'operator' && <Text size="sm">by the operator</Text>}
            </Table.Td>
            <Table.Td>{spend.data ? <Usd nano={spend.data.get(key.key_id) ?? 0n} /> : '–'}</Table.Td>
            <Table.Td>
              {key.max_budget_nano_usd === null ? 'None' : <Usd nano={BigInt(key.max_budget_nano_usd)} />}
            </Table.Td>
            <Table.Td style={{ whiteSpace: 'nowrap' }}>
              {COUNT.format(key.rpm)} requests
              <br />
              {COUNT.format(key.tpm)} tokens
            </Table.Td>
            <Table.Td>{key.expires_at === null ? 'Never' : <Moment at={key.expires_at} />}</Table.Td>
            <Table.Td>
              <Moment at={key.created_at} />
            </Table.Td>
            <Table.Td>
              {mayWrite && key.status !== 'revoked' && (
                <Group gap="xs" wrap="nowrap">
                  {key.blocked_by !== 'operator' && <BlockButton apiKey={key} />}
                  <RowButton label={`Revoke ${toLabel(key)}`} onClick={() => onRevoke(key)}>
                    Revoke
                  </RowButton>
                </Group>
              )}
            </Table.Td>
          </Table.Tr>
        ))}
      </WideTable>
      <Group justify="space-between">
        <Text size="sm" c="dimmed" role="status">
          {found.length === 0
            ? 'No key is like that.'
            : `${COUNT.format(page * ROWS + 1)} to ${COUNT.format(page * ROWS + shown.length)} of ${COUNT.format(found.length)}`}
          {!isComplete && ' so far. More keys are being read.'}
        </Text>
        {found.length > ROWS && (
          <Group gap="xs">
            <Button variant="default" disabled={page === 0} onClick={() => setPage(page - 1)}>
              Previous
            </Button>
            <Button variant="default" disabled={(page + 1) * ROWS >= found.length} onClick={() => setPage(page + 1)}>
              Next
            </Button>
          </Group>
        )}
      </Group>
    </>
  );
}

const COUNT = new Intl.NumberFormat();
const toLabel = ({ name, last_four: end }: Key): string => `${name}, sk-...${end}`;

/** Blocks a key, or admits its calls again. Neither is final, so no dialog asks. */
function BlockButton({ apiKey }: { apiKey: Key }) {
  const workspace = useWorkspace();
  const isBlocked = apiKey.status === 'blocked';
  const change = useChange(() =>
    callConsole(workspace, isBlocked ? keyRoutes.unblockKey : keyRoutes.blockKey, {
      params: { key_id: apiKey.key_id },
    }),
  );
  const name = isBlocked ? 'Unblock' : 'Block';
  return (
    <>
      <RowButton
        label={`${name} ${toLabel(apiKey)}`}
        loading={change.isPending}
        onClick={() => change.mutate(undefined)}
      >
        {name}
      </RowButton>
      <Failure error={change.error} />
    </>
  );
}

/** Makes the key once for the dialog, so that a repeated request registers no second key. */
function CreateKey({ onClose }: { onClose: () => void }) {
  const workspace = useWorkspace();
  const [, setSecret] = useNewSecret();
  const [made] = useState(makeApiKey);
  const create = useChange(
    async (fields: z.output<typeof keyFormSchema>) => {
      const { secret, ...key } = await made;
      await callConsole(workspace, keyRoutes.createKey, { body: { ...key, ...fields } }).catch(passIfRegistered);
      return secret;
    },
    {
      onDone(secret) {
        setSecret(secret);
        onClose();
      },
    },
  );
  return (
    <FormDialog title="Create a key" action="Create the key" schema={keyFormSchema} change={create} onClose={onClose}>
      {(problemOf) => <KeyFields problemOf={problemOf} />}
    </FormDialog>
  );
}

/** Passes over the refusal of a repeated request whose first answer was lost. */
function passIfRegistered(error: unknown): void {
  if (!(error instanceof Refused && error.error === 'key_already_registered')) throw error;
}

/** Shows the secret of a new key, which nothing keeps once the dialog is closed. */
function NewSecret({ secret }: { secret: string }) {
  const { organizationId, workspaceId } = useWorkspace();
  const [, setSecret] = useNewSecret();
  const close = () => setSecret(undefined);
  return (
    <Dialog title="Copy the secret now" onClose={close}>
      <Text>Turnpike does not keep this secret and cannot show it again. Keep it where your program reads it.</Text>
      <Snippet label="Secret of the key" text={secret} />
      <Group justify="flex-end">
        <Link to={PAGES.overview} params={{ organizationId, workspaceId }} className="link">
          Use it in a first call
        </Link>
        <Button onClick={close}>I have copied it</Button>
      </Group>
    </Dialog>
  );
}

function Revoke({ apiKey, onClose }: { apiKey: Key; onClose: () => void }) {
  const workspace = useWorkspace();
  const revoke = useChange(() => callConsole(workspace, keyRoutes.revokeKey, { params: { key_id: apiKey.key_id } }), {
    onDone: onClose,
  });
  return (
    <ConfirmDialog title="Revoke a key" action="Revoke for good" change={revoke} onClose={onClose}>
      Every call with <Name>{toLabel(apiKey)}</Name> is refused from the next one on. This cannot be undone.
    </ConfirmDialog>
  );
}
