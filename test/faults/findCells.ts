import { StackError } from '@turnpike/local-stack/stackError';
import { breakUnderLoad } from './breakUnderLoad.ts';
import type { Cell, CellTable } from './cell.ts';
import { accounts } from './cells/accounts.ts';
import { auth } from './cells/auth.ts';
import { broker } from './cells/broker.ts';
import { catalog } from './cells/catalog.ts';
import { clients } from './cells/clients.ts';
import { clocks } from './cells/clocks.ts';
import { cuts } from './cells/cuts.ts';
import { disk } from './cells/disk.ts';
import { edge } from './cells/edge.ts';
import { engines } from './cells/engines.ts';
import { healthy } from './cells/healthy.ts';
import { ledger } from './cells/ledger.ts';
import { media } from './cells/media.ts';
import { money } from './cells/money.ts';
import { operator } from './cells/operator.ts';
import { payments } from './cells/payments.ts';
import { postgres } from './cells/postgres.ts';
import { races } from './cells/races.ts';
import { recovery } from './cells/recovery.ts';
import { redis } from './cells/redis.ts';
import { release } from './cells/release.ts';
import { router } from './cells/router.ts';
import { strangers } from './cells/strangers.ts';

/** From the repair of whatever was broken to the first good answer, at most. */
const SERVES_WITHIN_MS = 5_000;

const GROUPS: Record<string, CellTable> = {
  accounts,
  auth,
  broker,
  catalog,
  clients,
  clocks,
  cuts,
  disk,
  edge,
  engines,
  healthy,
  ledger,
  media,
  money,
  operator,
  payments,
  postgres,
  races,
  recovery,
  redis,
  release,
  router,
  strangers,
};

/** Every cell there is, by group and name. */
export const CELLS: readonly Cell[] = Object.entries(GROUPS)
  .flatMap(([group, table]) => Object.entries(table).map(([name, row]) => toCell(group, name, row)))
  .sort((a, b) => a.group.localeCompare(b.group) || a.name.localeCompare(b.name));

function toCell(group: string, name: string, row: CellTable[string]): Cell {
  if ('run' in row) return { group, name, ...row };
  return {
    group,
    name,
    ...row,
    async run(context) {
      const calls = await breakUnderLoad(context, row);
      context.checkRecovery(SERVES_WITHIN_MS);
      context.checkOutcomes(calls, row.ends);
      row.also?.(context, calls);
    },
  };
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
