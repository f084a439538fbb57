import { Button, Group, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { KEY_STATES } from '@turnpike/console-api/console/keys';
import { PAGES } from '@turnpike/console-api/pages';
import { hasRight } from '@turnpike/console-api/roles';
import { memo, useState } from 'react';
import { foundKeysQuery, type Key, monthByKeyQuery } from '../console.ts';
import { FIRST_KEYS } from '../firstReads.ts';
import { formatCount } from '../formatCount.ts';
import { BlockButton, CreateKey, NewSecret, RevokeKey } from '../keys/changes.tsx';
import { KeyList } from '../keys/KeyList.tsx';
import { STATE_NAMES, stateOf, toLabel } from '../keys/keyStates.ts';
import { Badge, Code, Empty, Moment, Name, Page, Usd } from '../shell/states.tsx';
import { RowButton, WideTable } from '../shell/WideTable.tsx';
import { useWorkspace } from '../shell/workspace.tsx';

/** The API keys of a workspace: the user finds, creates, blocks and revokes them here. */
export function Keys() {
  const workspace = useWorkspace();
  const { organizationId, workspaceId, role } = workspace;
  const { data: first } = useQuery(foundKeysQuery(workspace, FIRST_KEYS));
  const [isCreating, setCreating] = useState(false);
  const [revoked, setRevoked] = useState<Key>();
  const create = hasRight(role, 'keys.write') && <Button onClick={() => setCreating(true)}>Create a key</Button>;
  return (
    <Page
      title="Keys"
      action={
        first !== undefined &&
        first.found + first.left_out > 0 && (
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
      <Text c="dimmed">A key lets a program call the API of this region, at the cost of the workspace.</Text>
      <KeyList
        states={KEY_STATES}
        rows={FIRST_KEYS.take}
        empty={
          <Empty>
            <Text>This workspace has no key yet.</Text>
            {create}
          </Empty>
        }
      >
        {(keys) => <KeyTable keys={keys} onRevoke={setRevoked} />}
      </KeyList>
      {isCreating && <CreateKey onClose={() => setCreating(false)} />}
      <NewSecret />
      {revoked && <RevokeKey apiKey={revoked} onClose={() => setRevoked(undefined)} />}
    </Page>
  );
}

const COLUMNS = ['Name', 'Secret', 'Status', 'Spent this month', 'Budget, limits a minute', 'Created', 'Actions'];

/** Is drawn anew with other keys alone, and not with each letter of a search. */
const KeyTable = memo(function KeyTable({ keys, onRevoke }: { keys: Key[]; onRevoke: (key: Key) => void }) {
  const workspace = useWorkspace();
  const { organizationId, workspaceId, role } = workspace;
  const spend = useQuery(monthByKeyQuery(workspace));
  return (
    <WideTable label="Keys" columns={COLUMNS}>
      {keys.map((key) => (
        <tr key={key.key_id}>
          <td>
            <Link to={PAGES.key} params={{ organizationId, workspaceId, keyId: key.key_id }} className="link">
              <Name>{key.name}</Name>
            </Link>
          </td>
          <td style={{ whiteSpace: 'nowrap' }}>
            <Code>sk-...{key.last_four}</Code>
          </td>
          <td>
            <Badge>{STATE_NAMES[stateOf(key)]}</Badge>
            {key.blocked_by === 'operator' && <div>by the operator</div>}
          </td>
          <td>{spend.data ? <Usd nano={spend.data.get(key.key_id) ?? 0n} /> : '–'}</td>
          <td style={{ whiteSpace: 'nowrap' }}>
            {key.max_budget_nano_usd === null ? 'No budget' : <Usd nano={BigInt(key.max_budget_nano_usd)} />}
            <br />
            {formatCount(key.rpm)} requests
            <br />
            {formatCount(key.tpm)} tokens
          </td>
          <td>
            <Moment at={key.created_at} />
            {key.expires_at !== null && (
              <div>
                expires <Moment at={key.expires_at} />
              </div>
            )}
          </td>
          <td>
            {hasRight(role, 'keys.write') && key.status !== 'revoked' && (
              <div className="row-buttons">
                <BlockButton apiKey={key} />
                <RowButton label={`Revoke ${toLabel(key)}`} onClick={() => onRevoke(key)}>
                  Revoke
                </RowButton>
              </div>
            )}
          </td>
        </tr>
      ))}
    </WideTable>
  );
});
