import { Group, Paper } from '@mantine/core';
import type { ReactNode } from 'react';
import { ColorScheme } from './ColorScheme.tsx';
import { Page } from './states.tsx';

/** A page without navigation, for those who may not be signed in. */
export function PublicPage({
  title,
  isWide = false,
  children,
}: {
  title: string;
  isWide?: boolean;
  children: ReactNode;
}) {
  return (
    <main className={isWide ? 'public public-wide' : 'public'}>
      <Group justify="space-between" mb="md">
        <span className="shell-brand">Turnpike</span>
        <ColorScheme />
      </Group>
      <Paper withBorder p={{ base: 'md', xs: 'xl' }}>
        <Page title={title}>{children}</Page>
      </Paper>
    </main>
  );
}
