import { Alert, Button, Group, Loader, Paper, Stack, Text, Title } from '@mantine/core';
import type { UseQueryResult } from '@tanstack/react-query';
import { Refused } from '@turnpike/console-api/callRoute';
import { type ReactNode, useEffect, useRef } from 'react';
import { once } from '../once.ts';
import { formatUsd } from '../usd.ts';

/** A page: its title, for the window and as the heading that takes the focus, and its content. */
export function Page({ title, action, children }: { title: string; action?: ReactNode; children: ReactNode }) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => heading.current?.focus(), []);
  return (
    <Stack gap="lg">
      <title>{`${title} – Turnpike`}</title>
      <Group justify="space-between">
        <Title order={1} size="h2" ref={heading} tabIndex={-1} style={{ outline: 'none' }}>
          {title}
        </Title>
        {action}
      </Group>
      {children}
    </Stack>
  );
}

export function Loading() {
  return (
    <Group justify="center" p="xl" role="status" aria-label="Loading">
      <Loader type="dots" />
    </Group>
  );
}

export function Failed({ message, retry }: { message: string; retry?: () => void }) {
  return (
    <Alert color="red" variant="outline" role="alert" title="This did not work">
      <Stack gap="sm" align="flex-start">
        <Text>{message}</Text>
        {retry && (
          <Button variant="default" onClick={retry}>
            Try again
          </Button>
        )}
      </Stack>
    </Alert>
  );
}

/** A list without entries: the next step. */
export function Empty({ children }: { children: ReactNode }) {
  return (
    <Paper withBorder p={{ base: 'md', xs: 'xl' }}>
      <Stack align="flex-start">{children}</Stack>
    </Paper>
  );
}

/** The states of a read: loading, refused for want of a right, failed, or its content. */
export function Loaded<Data>({
  query,
  children,
}: {
  query: UseQueryResult<Data>;
  children: (data: Data) => ReactNode;
}) {
  const { data, error, refetch } = query;
  if (data !== undefined)
    return (
      <>
        {error && (
          <Failed message={`${error.message} The page shows what was loaded before.`} retry={() => void refetch()} />
        )}
        {children(data)}
      </>
    );
  if (!error) return <Loading />;
  if (error instanceof Refused && error.error === 'right_missing') return <NoRight message={error.message} />;
  if (error instanceof Refused && error.status === 404) return <Failed message={error.message} />;
  return <Failed message={error.message} retry={() => void refetch()} />;
}

export const NoRight = ({ message }: { message: string }) => (
  <Alert color="gray" variant="outline" title="Your role does not show this">
    {message}
  </Alert>
);

const getMoment = once(() => new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' }));

export function Moment({ at }: { at: string }) {
  return (
    <time dateTime={at} style={{ whiteSpace: 'nowrap' }}>
      {getMoment().format(new Date(at))}
    </time>
  );
}

/** A name that a person chose: in its own direction, and broken where it is long. */
export function Name({ children }: { children: string }) {
  return <bdi style={{ overflowWrap: 'anywhere' }}>{children}</bdi>;
}

/** A short state or role. */
export const Badge = ({ children }: { children: ReactNode }) => <span className="badge">{children}</span>;

export const Code = ({ children }: { children: ReactNode }) => <code className="code">{children}</code>;

export const Usd = ({ nano }: { nano: bigint }) => <span style={{ whiteSpace: 'nowrap' }}>{formatUsd(nano)}</span>;

/** A part of a page, under a heading. */
export function Part({ title, children }: { title: string; children: ReactNode }) {
  return (
    <Paper withBorder p="md">
      <Stack>
        <Title order={2} size="h3">
          {title}
        </Title>
        {children}
      </Stack>
    </Paper>
  );
}
