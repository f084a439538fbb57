import { queryOptions } from '@tanstack/react-query';
import { Refused } from '@turnpike/console-api/callRoute';
import { keysConsoleApi, usageConsoleApi } from '@turnpike/console-api/consoleApi';
import { hasRight } from '@turnpike/console-api/roles';
import type { Workspace } from '../account.ts';
import { callConsole } from '../console.ts';
import { DAY_MS, type Period, toDay } from './period.ts';
import type { UsageRow } from './sumUsage.ts';

type Group = 'key,model' | 'key' | 'model' | 'none';
/** An answer has a limit of rows. A longer period is read in at most so many halves of halves. */
const MOST_HALVINGS = 4;

export function usageQuery(workspace: Workspace, { start, end, by }: Period, group: Group) {
  const days = { start: start - (start % DAY_MS), end: Math.ceil(end / DAY_MS) * DAY_MS, by };
  return queryOptions({
    queryKey: ['usage', workspace.workspaceId, days, group],
    queryFn: () => readUsage(workspace, days, group, MOST_HALVINGS),
  });
}

async function readUsage(workspace: Workspace, period: Period, group: Group, halvings: number): Promise<UsageRow[]> {
  const { start, end, by } = period;
  const params = { start: toDay(start), end: toDay(end), by, group };
  try {
    return (await callConsole(workspace, usageConsoleApi.routes.listUsage, { params })).usage;
  } catch (error) {
    const isTooMuch = error instanceof Refused && error.param === 'group' && end - start > DAY_MS;
    if (!isTooMuch || halvings === 0) throw error;
    const middle = start + Math.ceil((end - start) / DAY_MS / 2) * DAY_MS;
    // One after the other: if the first half is too much still, the second is not asked for.
    const first = await readUsage(workspace, { start, end: middle, by }, group, halvings - 1);
    return [...first, ...(await readUsage(workspace, { start: middle, end, by }, group, halvings - 1))];
  }
}

/** The names of the workspace's keys by id. None where the role does not show keys. */
export const keyNamesQuery = (workspace: Workspace) =>
  queryOptions({
    queryKey: ['key names', workspace.workspaceId],
    enabled: hasRight(workspace.role, 'keys.read'),
    async queryFn(): Promise<Map<string, string>> {
      const names = new Map<string, string>();
      let after: string | undefined;
      do {
        const page = await callConsole(workspace, keysConsoleApi.routes.listKeys, { params: { after } });
        for (const { key_id, name, last_four } of page.keys) names.set(key_id, `${name} (sk-...${last_four})`);
        after = page.next_after ?? undefined;
      } while (after !== undefined);
      return names;
    },
  });
