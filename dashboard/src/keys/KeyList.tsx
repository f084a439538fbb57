import { Button, Group, NativeSelect, Text, TextInput } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import type { KeyState } from '@turnpike/console-api/console/keys';
import { type ReactNode, startTransition, useState } from 'react';
import { foundKeysQuery, type Key, toFirstKeys } from '../console.ts';
import { formatCount } from '../formatCount.ts';
import { Loaded } from '../shell/states.tsx';
import { useWorkspace } from '../shell/workspace.tsx';
import { STATE_NAMES } from './keyStates.ts';

/** Time after the last letter of a search until it is sent. */
const PAUSE_MS = 200;

/** The keys of these states, found by name, last four characters and state, and shown by pages. */
export function KeyList({
  states,
  rows,
  empty,
  children,
}: {
  states: readonly KeyState[];
  /** Keys of a page. */
  rows: number;
  /** The content in place of a list without any key. */
  empty: ReactNode;
  /** Shows the keys of a page. */
  children: (shown: Key[]) => ReactNode;
}) {
  const [words, setWords] = useState('');
  const [state, setState] = useState<KeyState | ''>('');
  const [page, setPage] = useState(0);
  const [find] = useDebouncedValue(words.trim(), PAUSE_MS);
  const isChosen = find !== '' || state !== '';
  const first = toFirstKeys(states, rows);
  const query = useQuery(
    foundKeysQuery(useWorkspace(), {
      ...first,
      find,
      ...(isChosen && { states: state === '' ? states : [state], leavesOutEndedPlayground: false }),
      skip: page * rows,
    }),
  );
  const turnTo = (next: number) => startTransition(() => setPage(next));
  const { data, isPlaceholderData } = query;
  const isAnyChosen = isChosen || words !== '' || page > 0;
  const isEmpty = data !== undefined && !isPlaceholderData && !isAnyChosen && data.found + data.left_out === 0;
  return (
    <>
      {!isEmpty && (data !== undefined || isAnyChosen) && (
        <Group align="flex-end">
          <TextInput
            label="Find by name or last four characters"
            type="search"
            maxLength={200}
            value={words}
            onChange={({ currentTarget }) => {
              setWords(currentTarget.value);
              setPage(0);
            }}
          />
          <NativeSelect
            label="Status"
            data={[{ value: '', label: 'All' }, ...states.map((value) => ({ value, label: STATE_NAMES[value] }))]}
            value={state}
            onChange={({ currentTarget }) => {
              setState(states.find((name) => name === currentTarget.value) ?? '');
              setPage(0);
            }}
          />
        </Group>
      )}
      <Loaded query={query}>
        {({ keys, found, left_out: leftOut, skip }) =>
          isEmpty ? (
            empty
          ) : (
            <>
              {children(keys)}
              <Group justify="space-between">
                <Text size="sm" c="dimmed" role="status">
                  {found === 0
                    ? 'No key is like that.'
                    : `${formatCount(Math.min(skip + 1, found))} to ${formatCount(skip + keys.length)} of ${formatCount(found)}`}
                </Text>
                {leftOut > 0 && (
                  <Text size="sm" c="dimmed">
                    Not shown: ended keys of the playground ({formatCount(leftOut)}). Choose their status to see them.
                  </Text>
                )}
                {(found > rows || page > 0) && (
                  <Group gap="xs">
                    <Button variant="default" disabled={page === 0} onClick={() => turnTo(page - 1)}>
                      Previous
                    </Button>
                    <Button variant="default" disabled={(page + 1) * rows >= found} onClick={() => turnTo(page + 1)}>
                      Next
                    </Button>
                  </Group>
                )}
              </Group>
            </>
          )
        }
      </Loaded>
    </>
  );
}
