import { readdir } from 'node:fs/promises';
import { StackError } from '@turnpike/local-stack/stackError';
import type { Cell } from './cell.ts';

const FOLDER = new URL('./cells/', import.meta.url);

/** Every cell there is, by group and name. */
export async function loadCells(): Promise<Cell[]> {
  const files = (await readdir(FOLDER)).filter((file) => file.endsWith('.ts'));
  const modules = await Promise.all(files.map((file) => import(new URL(file, FOLDER).href)));
  const cells = modules.map(({ cell }: { cell: Cell }) => cell);
  return cells.sort((a, b) => a.group.localeCompare(b.group) || a.name.localeCompare(b.name));
}

/** The cells that patterns name: a group, a cell, or either with `*`. Throws a `StackError` that lists what there is. */
export function chooseCells(cells: readonly Cell[], patterns: readonly string[]): Cell[] {
  if (patterns.length === 0) return [...cells];
  const chosen = new Set<Cell>();
  for (const pattern of patterns) {
    const expression = new RegExp(
      `^${pattern
        .split('*')
        .map((part) => RegExp.escape(part))
        .join('.*')}$`,
    );
    const found = cells.filter(({ group, name }) => expression.test(group) || expression.test(name));
    if (found.length === 0) {
      const groups = [...new Set(cells.map(({ group }) => group))];
      throw new StackError(
        `No cell and no group is called "${pattern}". Groups: ${groups.join(', ')}. --list shows every cell; * stands for anything, as in 'redis*'.`,
      );
    }
    for (const cell of found) chosen.add(cell);
  }
  return cells.filter((cell) => chosen.has(cell));
}
