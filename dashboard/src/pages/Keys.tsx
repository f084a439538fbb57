import { Badge, Table, Text } from '@mantine/core';
import { useInfiniteQuery } from '@tanstack/react-query';
import { keysConsoleApi } from '@turnpike/console-api/consoleApi';
import { callConsole } from '../console.ts';
import { Empty, Loaded, Moment, Name, Page, WideTable } from '../shell/states.tsx';
import { useWorkspace } from '../shell/workspace.tsx';

const { routes } = keysConsoleApi;

/** The API keys of a workspace. */
export function Keys() {
  const workspace = useWorkspace();
  const query = useInfiniteQuery({
    queryKey: ['keys', workspace.workspaceId],
    queryFn: ({ pageParam: after }) => callConsole(workspace, routes.listKeys, { params: { after } }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next_after: next }) => next ?? undefined,
  });
  return (
    <Page title="Keys">
      <Loaded query={query}>
        {({ pages }) => {
          const keys = pages.flatMap((page) => page.keys);
          if (keys.length === 0)
            return (
              <Empty>
                <Text>This workspace has no key yet.</Text>
              </Empty>
            );
          return (
            <WideTable label="Keys">
              <Table verticalSpacing="sm">
                <Table.Thead>
                  <Table.Tr>
                    <Table.Th scope="col">Name</Table.Th>
                    <Table.Th scope="col">Secret</Table.Th>
                    <Table.Th scope="col">Status</Table.Th>
                    <Table.Th scope="col">Created</Table.Th>
                  </Table.Tr>
                </Table.Thead>
                <Table.Tbody>
                  {keys.map((key) => (
                    <Table.Tr key={key.key_id}>
                      <Table.Td>
                        <Name>{key.name}</Name>
                      </Table.Td>
                      <Table.Td>sk-...{key.last_four}</Table.Td>
                      <Table.Td>
                        <Badge variant="default">{key.status}</Badge>
                      </Table.Td>
                      <Table.Td>
                        <Moment at={key.created_at} />
                      </Table.Td>
                    </Table.Tr>
                  ))}
                </Table.Tbody>
              </Table>
            </WideTable>
          );
        }}
      </Loaded>
    </Page>
  );
}
