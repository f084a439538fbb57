import { Text } from '@mantine/core';
import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { PAGES } from '@turnpike/console-api/pages';
import { ROLES } from '@turnpike/console-api/roles';
import type { ReactNode } from 'react';
import type * as z from 'zod/mini';
import { callConsole, keyRoutes, keysByIdQuery } from '../console.ts';
import { formatCount } from '../formatCount.ts';
import { Older } from '../shell/Older.tsx';
import { ROLE_NAMES } from '../shell/roleNames.ts';
import { Code, Empty, Loaded, Moment, Name, Usd } from '../shell/states.tsx';
import { useMemberNames } from '../shell/useMemberNames.ts';
import { WideTable } from '../shell/WideTable.tsx';
import { useWorkspace } from '../shell/workspace.tsx';
import { STATE_NAMES } from './keyStates.ts';

type Change = z.output<typeof keyRoutes.listKeyChanges.answer>['changes'][number];

const ACTIONS: Record<string, string> = {
  create: 'Created',
  update: 'Edited',
  rotate: 'Secret rotated',
  end_old_secret: 'Old secret ended',
  block: 'Blocked',
  unblock: 'Unblocked',
  revoke: 'Revoked',
};

/** The changes of one key, or of all keys of the workspace, the newest first. */
export function KeyHistory({ keyId }: { keyId?: string }) {
  const workspace = useWorkspace();
  const { organizationId, workspaceId } = workspace;
  const nameOf = useMemberNames(organizationId);
  const query = useInfiniteQuery({
    queryKey: ['key changes', workspaceId, keyId],
    queryFn: ({ pageParam: before }) =>
      callConsole(workspace, keyRoutes.listKeyChanges, { params: { before, key_id: keyId } }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next }) => next ?? undefined,
  });
  const shown =
    keyId === undefined ? query.data?.pages.flatMap(({ changes }) => changes.map((change) => change.key_id)) : [];
  const keys = useQuery(keysByIdQuery(workspace, shown ?? []));
  return (
    <Loaded query={query}>
      {({ pages }) => {
        const changes = pages.flatMap((page) => page.changes);
        if (changes.length === 0)
          return (
            <Empty>
              <Text>
                No member has changed {keyId === undefined ? 'a key of this workspace' : 'this key'} yet. Changes by the
                operator are not listed here.
              </Text>
            </Empty>
          );
        return (
          <>
            <WideTable
              label="Changes"
              columns={['When', ...(keyId === undefined ? ['Key'] : []), 'Who', 'Change', 'Details']}
            >
              {changes.map((change) => (
                <tr key={change.change_id}>
                  <td>
                    <Moment at={change.at} />
                  </td>
                  {keyId === undefined && (
                    <td>
                      <Link
                        to={PAGES.key}
                        params={{ organizationId, workspaceId, keyId: change.key_id }}
                        className="link"
                      >
                        <Name>{keys.data?.get(change.key_id)?.name ?? change.key_id}</Name>
                      </Link>
                    </td>
                  )}
                  <td className="who">
                    <Name>{nameOf(change.user_id) ?? change.user_id}</Name>
                    <Text size="sm" c="dimmed">
                      {toRoleName(change.role)}
                    </Text>
                  </td>
                  <td>{ACTIONS[change.action] ?? change.action}</td>
                  <td>
                    <Details change={change} />
                  </td>
                </tr>
              ))}
            </WideTable>
            <Older query={query}>Show older changes</Older>
          </>
        );
      }}
    </Loaded>
  );
}

const toRoleName = (text: string): string => {
  const role = ROLES.find((name) => name === text);
  return role ? ROLE_NAMES[role] : text;
};

/** The changed fields: `Requests a minute: 600 → 60`. */
function Details({ change: { before, after } }: { change: Change }) {
  const old = new Map(Object.entries(before ?? {}));
  return Object.entries(after ?? {}).map(([field, value]) => (
    <div key={field}>
      {FIELD_NAMES[field] ?? field.replaceAll('_', ' ')}: {old.has(field) && <>{toShown(field, old.get(field))} → </>}
      {toShown(field, value)}
    </div>
  ));
}

const FIELD_NAMES: Record<string, string> = {
  name: 'Name',
  status: 'Status',
  rpm: 'Requests a minute',
  tpm: 'Tokens a minute',
  max_budget_nano_usd: 'Budget',
  period_budget_nano_usd: 'Budget of a period',
  budget_period: 'Period',
  allowed_models: 'Models',
  expires_at: 'Expires',
  last_four: 'Secret',
  old_secret_ends_at: 'Old secret ends',
};

/** Shows the value of a field as the page of the key shows it. A field that this page does not know is shown as it is. */
function toShown(field: string, value: unknown): ReactNode {
  if (value === null) return field === 'expires_at' ? 'never' : 'none';
  if (typeof value === 'number') return formatCount(value);
  if (field === 'allowed_models' && Array.isArray(value)) return value.length === 0 ? 'all' : value.join(', ');
  if (typeof value !== 'string') return <Code>{JSON.stringify(value)}</Code>;
  switch (field) {
    case 'max_budget_nano_usd':
    case 'period_budget_nano_usd':
      return <Usd nano={BigInt(value)} />;
    case 'expires_at':
    case 'old_secret_ends_at':
      return <Moment at={value} />;
    case 'last_four':
      return <Code>sk-...{value}</Code>;
    case 'status':
      return Object.entries(STATE_NAMES).find(([state]) => state === value)?.[1] ?? value;
    default:
      return <Name>{value}</Name>;
  }
}
