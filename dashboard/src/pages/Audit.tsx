import { Text } from '@mantine/core';
import { useInfiniteQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { callRoute } from '@turnpike/console-api/callRoute';
import { PAGES } from '@turnpike/console-api/pages';
import { Fragment } from 'react';
import { routes, useMemberNames } from '../account.ts';
import { Older } from '../shell/Older.tsx';
import { Code, Empty, Loaded, Moment, Name, Page } from '../shell/states.tsx';
import { WideTable } from '../shell/WideTable.tsx';

/** The changes of an organization, the newest first. */
export function Audit() {
  const { organizationId } = useParams({ from: `/shell${PAGES.audit}` });
  const nameOf = useMemberNames(organizationId);
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
                    <td>
                      <Name>{nameOf(line.actor) ?? line.actor}</Name>
                    </td>
                    <td className="sentence">{line.action.replaceAll(/[._]/g, ' ')}</td>
                    <td>
                      <Name>{nameOf(line.target) ?? line.target}</Name>
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
    return (
      <div key={field}>
        {field.replaceAll('_', ' ')}:{' '}
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

const toFields = (value: unknown): Map<string, string> =>
  new Map(
    Object.entries(value ?? {}).map(([field, part]) => [field, typeof part === 'string' ? part : JSON.stringify(part)]),
  );
