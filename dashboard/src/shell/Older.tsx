import { Button, Group } from '@mantine/core';
import type { UseInfiniteQueryResult } from '@tanstack/react-query';

/** The button at the end of a list that is read by pages, unless its last page is there. */
export function Older({
  query: { hasNextPage, isFetchingNextPage, fetchNextPage },
  children,
}: {
  query: Pick<UseInfiniteQueryResult, 'hasNextPage' | 'isFetchingNextPage' | 'fetchNextPage'>;
  children: string;
}) {
  return (
    hasNextPage && (
      <Group>
        <Button variant="default" loading={isFetchingNextPage} onClick={() => void fetchNextPage()}>
          {children}
        </Button>
      </Group>
    )
  );
}
