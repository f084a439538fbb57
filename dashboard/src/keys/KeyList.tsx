import { Button, Group, NativeSelect, Text, TextInput } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import type { Key } from '../console.ts';
import { COUNT, isPastPlayground, STATE_NAMES, STATES, type State, stateOf } from './keyStates.ts';

/** Finds keys by name, last four characters and status, and shows `rows` of them at a time. `children` shows these. */
export function KeyList({
  keys,
  isComplete,
  rows,
  children,
}: {
  keys: Key[];
  isComplete: boolean;
  rows: number;
  children: (shown: Key[]) => ReactNode;
}) {
  const [words, setWords] = useState('');
  const [state, setState] = useState<State | ''>('');
  const [page, setPage] = useState(0);
  const wanted = words.trim().toLowerCase();
  const matching = keys.filter(
    (key) =>
      (key.name.toLowerCase().includes(wanted) || key.last_four.toLowerCase() === wanted) &&
      (state === '' || stateOf(key) === state),
  );
  // Each visit of the playground leaves a key, which only a search or a status shows.
  const found = wanted === '' && state === '' ? matching.filter((key) => !isPastPlayground(key)) : matching;
  const hidden = matching.length - found.length;
  const shown = found.slice(page * rows, (page + 1) * rows);
  return (
    <>
      <Group align="flex-end">
        <TextInput
          label="Find by name or last four characters"
          type="search"
          value={words}
          onChange={({ currentTarget }) => {
            setWords(currentTarget.value);
            setPage(0);
          }}
        />
        <NativeSelect
          label="Status"
          data={[{ value: '', label: 'All' }, ...STATES.map((value) => ({ value, label: STATE_NAMES[value] }))]}
          value={state}
          onChange={({ currentTarget }) => {
            setState(STATES.find((name) => name === currentTarget.value) ?? '');
            setPage(0);
          }}
        />
      </Group>
      {children(shown)}
      <Group justify="space-between">
        <Text size="sm" c="dimmed" role="status">
          {found.length === 0
            ? 'No key is like that.'
            : `${COUNT.format(page * rows + 1)} to ${COUNT.format(page * rows + shown.length)} of ${COUNT.format(found.length)}`}
          {!isComplete && ' so far. More keys are being read.'}
        </Text>
        {hidden > 0 && (
          <Text size="sm" c="dimmed">
            Not shown: ended keys of the playground ({COUNT.format(hidden)}). Choose their status to see them.
          </Text>
        )}
        {found.length > rows && (
          <Group gap="xs">
            <Button variant="default" disabled={page === 0} onClick={() => setPage(page - 1)}>
              Previous
            </Button>
            <Button variant="default" disabled={(page + 1) * rows >= found.length} onClick={() => setPage(page + 1)}>
              Next
            </Button>
          </Group>
        )}
      </Group>
    </>
  );
}
