import { Text } from '@mantine/core';
import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { callRoute } from '@turnpike/console-api/callRoute';
import { PAGES } from '@turnpike/console-api/pages';
import { Fragment } from 'react';
import { organizationQuery, routes, workspacesQuery } from '../account.ts';
import { type Currency, formatCents } from '../billing/money.ts';
import { Older } from '../shell/Older.tsx';
import { Code, Empty, Loaded, Moment, Name, Page } from '../shell/states.tsx';
import { useMemberNames } from '../shell/useMemberNames.ts';
import { WideTable } from '../shell/WideTable.tsx';
import { formatUsd } from '../usd.ts';

/** The changes of an organization, the newest first. */
export function Audit() {
  const { organizationId } = useParams({ from: `/shell${PAGES.audit}` });
  const nameOf = useMemberNames(organizationId);
  const organization = useQuery(organizationQuery(organizationId));
  const workspaces = useQuery(workspacesQuery(organizationId));
  const nameTarget = (target: string): string | undefined =>
    target === organizationId
      ? organization.data?.name
      : (nameOf(target) ?? workspaces.data?.workspaces.find(({ workspace_id: id }) => id === target)?.name);
  const query = useInfiniteQuery({
    queryKey: ['audit', organizationId],
    queryFn: ({ pageParam: before }) =>
      callRoute(routes.listAudit, { params: { organization_id: organizationId, before } }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next }) => next ?? undefined,
  });
  return (
    <Page title="Audit">
      <Loaded query={query}>
        {({ pages }) => {
          const lines = pages.flatMap((page) => page.lines);
          if (lines.length === 0)
            return (
              <Empty>
                <Text>Nothing has changed yet. Every change of members, invitations and workspaces appears here.</Text>
              </Empty>
            );
          return (
            <>
              <WideTable label="Audit" columns={['When', 'Who', 'Change', 'Target', 'Details', 'From']}>
                {lines.map((line) => (
                  <tr key={line.audit_id}>
                    <td>
                      <Moment at={line.at} />
                    </td>
                    <td className="who">
                      <Name>{nameOf(line.actor) ?? line.actor}</Name>
                    </td>
                    <td className="sentence">{line.action.replaceAll(/[._]/g, ' ')}</td>
                    <td>
                      <Name>{nameTarget(line.target) ?? line.target}</Name>
                    </td>
                    <td>
                      <Details before={line.before} after={line.after} />
                    </td>
                    <td>{line.address}</td>
                  </tr>
                ))}
              </WideTable>
              <Older query={query}>Show older changes</Older>
            </>
          );
        }}
      </Loaded>
    </Page>
  );
}

/** The changed fields: `role: developer → admin`. */
function Details({ before, after }: { before: unknown; after: unknown }) {
  const [old, young] = [toFields(before), toFields(after)];
  return [...new Set([...old.keys(), ...young.keys()])].map((field) => {
    const values = [old.get(field), young.get(field)].filter((value) => value !== undefined);
    if (values.length === 2 && values[0] === values[1]) return null;
    return (
      <div key={field}>
        {field}:{' '}
        {values.map((value, index) => (
          <Fragment key={value}>
            {index > 0 && ' → '}
            <Code>
              <Name>{value}</Name>
            </Code>
          </Fragment>
        ))}
      </div>
    );
  });
}

/** The fields with their values as people read them. The unit of an amount is in the value, and no more in the name. */
function toFields(values: unknown): Map<string, string> {
  const { currency, ...fields } = (values ?? {}) as Record<string, unknown>;
  return new Map(
    Object.entries(fields).map(([field, value]) => {
      const name = (unit: RegExp) => field.replace(unit, '').replaceAll('_', ' ');
      if (field.endsWith('nano_usd') && /^-?\d+$/.test(String(value)))
        return [name(/_?nano_usd$/) || 'credit', formatUsd(BigInt(String(value)))];
      if (field.endsWith('_cents') && isCurrency(currency))
        return [name(/_cents$/), formatCents(currency, Number(value))];
      return [name(/_nano_usd$/), typeof value === 'string' ? value : value === null ? 'none' : JSON.stringify(value)];
    }),
  );
}

const isCurrency = (value: unknown): value is Currency => value === 'usd' || value === 'eur';
