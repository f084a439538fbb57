import { Text } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { PAGES } from '@turnpike/console-api/pages';
import { KeyHistory } from '../keys/KeyHistory.tsx';
import { Page } from '../shell/states.tsx';
import { useWorkspace } from '../shell/workspace.tsx';

/** The changes of all keys of a workspace. */
export function KeyChanges() {
  const { organizationId, workspaceId } = useWorkspace();
  return (
    <Page
      title="History of keys"
      action={
        <Link to={PAGES.keys} params={{ organizationId, workspaceId }} className="link">
          All keys
        </Link>
      }
    >
      <Text c="dimmed">Changes of keys by members. The operator keeps a log of the operator’s own changes.</Text>
      <KeyHistory />
    </Page>
  );
}
