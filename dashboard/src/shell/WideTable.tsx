import type { ReactNode } from 'react';

/**
 * A table that scrolls by itself where the window is narrow. `children` are its rows. It has elements of its own, because components of
 * Mantine for each cell would take most of the time of a long table.
 */
export function WideTable({ label, columns, children }: { label: string; columns: string[]; children: ReactNode }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a part that scrolls has to be reached by keyboard
    <section aria-label={label} tabIndex={0} className="table">
      <table className="wide">
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column} scope="col">
                {column}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
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
    <button
      type="button"
      className="row-button mantine-focus-auto"
      aria-label={label}
      aria-busy={loading}
      disabled={loading}
      onClick={onClick}
    >
      {children}
    </button>
  );
}
