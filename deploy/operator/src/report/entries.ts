import { toUsdText } from '@turnpike/money/nanoUsd';
import { toInstantCell } from './cells.ts';
import type { Column } from './formatTable.ts';

/** A value as a table takes it. A bigint is an amount of nano-dollars. */
type Cell = string | number | bigint | boolean | null | undefined;

/** The names of an entry's fields. A condition, so that an entry's type is found by what reads it and not by its columns. */
type FieldOf<Entry> = Entry extends unknown ? keyof Entry & string : never;

/** The titles of a table, each with the cell of an entry: one of its fields, or a function of it. */
export type Columns<Entry> = Record<string, FieldOf<Entry> | ((entry: Entry) => Cell)>;

/** Makes a table of entries. Numbers and amounts are aligned to the right, instants are shown to the minute. */
export function tabulate<Entry extends object>(
  table: (columns: Column[], rows: string[][]) => string,
  columns: Columns<Entry>,
  entries: readonly Entry[],
): string {
  const rows = entries.map((entry) => Object.values(columns).map((column) => cellOf(entry, column)));
  const isNumber = (index: number) => rows.some((row) => ['number', 'bigint'].includes(typeof row[index]));
  return table(
    Object.keys(columns).map((title, index) => ({ title, isNumber: isNumber(index) })),
    rows.map((row) => row.map(toText)),
  );
}

/** Returns the titles of columns, each with the cell of one entry, to be shown below each other. */
export const toFacts = <Entry extends object>(columns: Columns<Entry>, entry: Entry): string[][] =>
  Object.entries(columns).map(([title, column]) => [title, toText(cellOf(entry, column))]);

function cellOf<Entry extends object>(entry: Entry, column: Columns<Entry>[string]): Cell {
  if (typeof column === 'function') return column(entry);
  const value = entry[column] as Cell;
  return column.endsWith('_at') ? toInstantCell((value ?? null) as string | null) : value;
}

function toText(cell: Cell): string {
  if (cell === null || cell === undefined) return '-';
  if (typeof cell === 'boolean') return cell ? 'yes' : 'no';
  return typeof cell === 'bigint' ? toUsdText(cell) : String(cell);
}

const AMOUNT = /^(.*)_nano_usd$/;

/**
 * Returns fields for programs: each amount, called `…_nano_usd`, as decimal strings of dollars and of nano-dollars, null where there is
 * none. Other fields stay as they are.
 */
export function withAmounts(fields: object): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(fields).flatMap(([name, value]) => {
      const [, base] = AMOUNT.exec(name) ?? [];
      if (base === undefined) return [[name, value]];
      return [
        [`${base}_usd`, value === null ? null : toUsdText(value)],
        [name, value === null ? null : String(value)],
      ];
    }),
  );
}
