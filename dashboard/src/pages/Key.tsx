import { Alert, Button, Group, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import { PAGES } from '@turnpike/console-api/pages';
import { hasRight } from '@turnpike/console-api/roles';
import { type ReactNode, useState } from 'react';
import { headroomQuery, type Key, keyQuery } from '../console.ts';
import { BlockButton, EditKey, EndOldSecret, NewSecret, RevokeKey, RotateKey } from '../keys/changes.tsx';
import { KeyHistory } from '../keys/KeyHistory.tsx';
import { oldSecretOf, STATE_NAMES, stateOf, toLabel } from '../keys/keyStates.ts';
import { UsedBudget, UsedPeriod, UsedRate } from '../keys/Use.tsx';
import { Facts } from '../shell/Facts.tsx';
import { Badge, Code, Failed, Loaded, Moment, Name, Page, Part } from '../shell/states.tsx';
import { RowButton } from '../shell/WideTable.tsx';
import { useWorkspace } from '../shell/workspace.tsx';

/** One key: its live use, its changes, and all that a member can change of it. */
export function KeyPage() {
  const workspace = useWorkspace();
  const { organizationId, workspaceId, role } = workspace;
  const { keyId } = useParams({ from: `/shell/workspace${PAGES.key}` });
  const query = useQuery(keyQuery(workspace, keyId));
  return (
    <Page
      title="Key"
      action={
        <Link to={PAGES.keys} params={{ organizationId, workspaceId }} className="link">
          All keys
        </Link>
      }
    >
      <Loaded query={query}>
        {(key) =>
          key ? (
            <KeyParts apiKey={key} />
          ) : (
            <Failed message="This workspace has no such key. Find it in the list of all keys." />
          )
        }
      </Loaded>
      {hasRight(role, 'audit.read') && (
        <Part title="History">
          <KeyHistory keyId={keyId} />
        </Part>
      )}
      <NewSecret />
    </Page>
  );
}

const DIALOGS = { edit: EditKey, rotate: RotateKey, end: EndOldSecret, revoke: RevokeKey };

function KeyParts({ apiKey }: { apiKey: Key }) {
  const { role } = useWorkspace();
  const [open, setOpen] = useState<keyof typeof DIALOGS>();
  const state = stateOf(apiKey);
  const old = oldSecretOf(apiKey);
  const mayWrite = hasRight(role, 'keys.write') && state !== 'revoked';
  const ChosenDialog = open && DIALOGS[open];
  return (
    <>
      <Hint apiKey={apiKey} />
      <Part title="Settings">
        <Facts
          facts={{
            Name: <Name>{apiKey.name}</Name>,
            Secret: <Code>sk-...{apiKey.last_four}</Code>,
            Status: <Badge>{STATE_NAMES[state]}</Badge>,
            Models: <Name>{apiKey.allowed_models?.join(', ') ?? 'All'}</Name>,
            Expires: apiKey.expires_at === null ? 'Never' : <Moment at={apiKey.expires_at} />,
            Created: <Moment at={apiKey.created_at} />,
            'Key id': <Code>{apiKey.key_id}</Code>,
          }}
        />
        {old && (
          <Text>
            The old secret, <Code>sk-...{old.last_four}</Code>, works until <Moment at={old.ends_at} />. The key can be
            rotated again after that.
          </Text>
        )}
        {mayWrite && (
          <Group gap="xs">
            <Button size="xs" onClick={() => setOpen('edit')}>
              Edit
            </Button>
            {state === 'active' && !old && (
              <RowButton label={`Rotate the secret of ${toLabel(apiKey)}`} onClick={() => setOpen('rotate')}>
                Rotate the secret
              </RowButton>
            )}
            {old && (
              <RowButton label={`End the old secret, sk-...${old.last_four}`} onClick={() => setOpen('end')}>
                End the old secret
              </RowButton>
            )}
            <BlockButton apiKey={apiKey} />
            <RowButton label={`Revoke ${toLabel(apiKey)}`} onClick={() => setOpen('revoke')}>
              Revoke
            </RowButton>
          </Group>
        )}
      </Part>
      <LiveUse apiKey={apiKey} />
      {ChosenDialog && <ChosenDialog apiKey={apiKey} onClose={() => setOpen(undefined)} />}
    </>
  );
}

/** The reason for which calls with the key are refused, and the remedy. */
function Hint({ apiKey }: { apiKey: Key }) {
  const hint = toHint(apiKey);
  return (
    hint && (
      <Alert color="gray" variant="outline" title="Calls with this key are refused">
        {hint}
      </Alert>
    )
  );
}

function toHint(apiKey: Key): ReactNode {
  if (apiKey.blocked_by === 'operator')
    return 'The operator of the service blocked it. No member can unblock it: ask support, and use another key until then.';
  switch (stateOf(apiKey)) {
    case 'blocked':
      return 'A member blocked it. Unblock it to admit its calls again.';
    case 'expired':
      return 'It has expired. Edit its expiry to admit its calls again.';
    case 'revoked':
      return 'It is revoked for good. Create another key.';
    case 'active':
      return undefined;
  }
}

function LiveUse({ apiKey: { key_id: keyId } }: { apiKey: Key }) {
  const workspace = useWorkspace();
  const { organizationId, workspaceId } = workspace;
  const query = useQuery(headroomQuery(workspace, keyId));
  return (
    <Part title="Live use">
      <Loaded query={query}>
        {(headroom) => (
          <>
            <Facts
              facts={{
                Budget: <UsedBudget headroom={headroom} />,
                ...(headroom.period_budget && {
                  'Budget of a period': <UsedPeriod budget={headroom.period_budget} />,
                }),
                'Requests this minute': (
                  <UsedRate label="Requests this minute" used={headroom.used_requests} limit={headroom.rpm} />
                ),
                'Tokens this minute': (
                  <UsedRate label="Tokens this minute" used={headroom.used_tokens} limit={headroom.tpm} />
                ),
              }}
            />
            <Text size="sm" c="dimmed">
              As of <Moment at={new Date(query.dataUpdatedAt).toISOString()} />, read again every 10 seconds. What
              counts against a minute becomes less all the time. Calls in progress count with their estimated prompts.{' '}
              <Link to={PAGES.limits} params={{ organizationId, workspaceId }} className="link">
                What happens beyond a limit
              </Link>
            </Text>
          </>
        )}
      </Loaded>
    </Part>
  );
}
