import { Badge, Button, Code, Group, Table, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { PAGES } from '@turnpike/console-api/pages';
import { hasRight } from '@turnpike/console-api/roles';
import { useState } from 'react';
import { type Key, monthByKeyQuery, useKeys } from '../console.ts';
import { BlockButton, CreateKey, NewSecret, RevokeKey } from '../keys/changes.tsx';
import { KeyList } from '../keys/KeyList.tsx';
import { COUNT, STATE_NAMES, stateOf, toLabel } from '../keys/keyStates.ts';
import { Empty, Loaded, Moment, Name, Page, Usd } from '../shell/states.tsx';
import { RowButton, WideTable } from '../shell/WideTable.tsx';
import { useWorkspace } from '../shell/workspace.tsx';

/** Rows that the table shows at a time. */
const ROWS = 50;

/** The API keys of a workspace: the user finds, creates, blocks and revokes them here. */
export function Keys() {
  const workspace = useWorkspace();
  const { organizationId, workspaceId, role } = workspace;
  const query = useKeys(workspace);
  const [isCreating, setCreating] = useState(false);
  const [revoked, setRevoked] = useState<Key>();
  const create = hasRight(role, 'keys.write') && <Button onClick={() => setCreating(true)}>Create a key</Button>;
  return (
    <Page
      title="Keys"
      action={
        query.data !== undefined &&
        query.data.length > 0 && (
          <Group>
            {hasRight(role, 'audit.read') && (
              <Link to={PAGES.keyChanges} params={{ organizationId, workspaceId }} className="link">
                History of keys
              </Link>
            )}
            {create}
          </Group>
        )
      }
    >
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
            <KeyList keys={keys} isComplete={!query.hasNextPage} rows={ROWS}>
              {(shown) => <KeyTable keys={shown} onRevoke={setRevoked} />}
            </KeyList>
          )
        }
      </Loaded>
      {isCreating && <CreateKey onClose={() => setCreating(false)} />}
      <NewSecret />
      {revoked && <RevokeKey apiKey={revoked} onClose={() => setRevoked(undefined)} />}
    </Page>
  );
}

const COLUMNS = ['Name', 'Secret', 'Status', 'Spent this month', 'Budget, limits a minute', 'Created', 'Actions'];

function KeyTable({ keys, onRevoke }: { keys: Key[]; onRevoke: (key: Key) => void }) {
  const workspace = useWorkspace();
  const { organizationId, workspaceId, role } = workspace;
  const spend = useQuery(monthByKeyQuery(workspace));
  return (
    <WideTable label="Keys" columns={COLUMNS}>
      {keys.map((key) => (
        <Table.Tr key={key.key_id}>
          <Table.Td>
            <Link to={PAGES.key} params={{ organizationId, workspaceId, keyId: key.key_id }} className="link">
              <Name>{key.name}</Name>
            </Link>
          </Table.Td>
          <Table.Td>
            <Code>sk-...{key.last_four}</Code>
          </Table.Td>
          <Table.Td>
            <Badge variant="default">{STATE_NAMES[stateOf(key)]}</Badge>
            {key.blocked_by === 'operator' && <Text size="sm">by the operator</Text>}
          </Table.Td>
          <Table.Td>{spend.data ? <Usd nano={spend.data.get(key.key_id) ?? 0n} /> : '–'}</Table.Td>
          <Table.Td style={{ whiteSpace: 'nowrap' }}>
            {key.max_budget_nano_usd === null ? 'No budget' : <Usd nano={BigInt(key.max_budget_nano_usd)} />}
            <br />
            {COUNT.format(key.rpm)} requests
            <br />
            {COUNT.format(key.tpm)} tokens
          </Table.Td>
          <Table.Td>
            <Moment at={key.created_at} />
            {key.expires_at !== null && (
              <Text size="sm">
                expires <Moment at={key.expires_at} />
              </Text>
            )}
          </Table.Td>
          <Table.Td>
            {hasRight(role, 'keys.write') && key.status !== 'revoked' && (
              <Group gap="xs" wrap="nowrap">
                <BlockButton apiKey={key} />
                <RowButton label={`Revoke ${toLabel(key)}`} onClick={() => onRevoke(key)}>
                  Revoke
                </RowButton>
              </Group>
            )}
          </Table.Td>
        </Table.Tr>
      ))}
    </WideTable>
  );
}
