import { Code, Paper, Stack, Text, Title } from '@mantine/core';
import { Page } from '../shell/states.tsx';
import { useWorkspace } from '../shell/workspace.tsx';

/** A workspace: where its API is. */
export function Overview() {
  const { baseUrl } = useWorkspace();
  return (
    <Page title="Overview">
      <Paper withBorder p="lg">
        <Stack>
          <Title order={2} size="h3">
            API
          </Title>
          <Text>
            Base address: <Code>{baseUrl}</Code>
          </Text>
        </Stack>
      </Paper>
    </Page>
  );
}
