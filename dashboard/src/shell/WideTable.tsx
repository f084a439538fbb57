import { Button, Table } from '@mantine/core';
import type { ReactNode } from 'react';

/** A table that scrolls by itself where the window is narrow. `children` are its rows. */
export function WideTable({ label, columns, children }: { label: string; columns: string[]; children: ReactNode }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a part that scrolls has to be reached by keyboard
    <section aria-label={label} tabIndex={0} style={{ overflowX: 'auto' }}>
      <Table verticalSpacing="sm">
        <Table.Thead>
          <Table.Tr>
            {columns.map((column) => (
              <Table.Th key={column} scope="col">
                {column}
              </Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>{children}</Table.Tbody>
      </Table>
    </section>
  );
}

/** A button in a row of a table. `label` says as well which row it is. */
export function RowButton({
  label,
  loading = false,
  onClick,
  children,
}: {
  label: string;
  loading?: boolean;
  onClick: () => void;
  children: string;
}) {
  return (
    <Button size="xs" variant="default" aria-label={label} loading={loading} onClick={onClick}>
      {children}
    </Button>
  );
}
