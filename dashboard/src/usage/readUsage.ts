import { hashKey, queryOptions } from '@tanstack/react-query';
import { usageConsoleApi } from '@turnpike/console-api/console/usage';
import type { Workspace } from '../account.ts';
import { callConsole } from '../console.ts';
import { type Period, toDay, toHour } from './period.ts';
import { type Measure, MOST_SERIES } from './sumUsage.ts';

type Group = 'key,model' | 'key' | 'model' | 'none';

/** Reads the usage of a period: the largest groups by a measure, and the others as one. */
export function usageQuery(workspace: Workspace, { start, end, by }: Period, group: Group, measure: Measure) {
  const toTime = by === 'day' ? toDay : toHour;
  const range = { start: toTime(start), end: toTime(end), by, group };
  const top = group === 'none' ? {} : { top: String(MOST_SERIES), top_by: measure };
  return queryOptions({
    queryKey: ['usage', workspace.workspaceId, range, top],
    queryFn: async () =>
      (await callConsole(workspace, usageConsoleApi.routes.listUsage, { params: { ...range, ...top } })).usage,
    // The sums of the groups by another measure are shown until the answer comes.
    placeholderData: (rows, query) => (hashKey([query?.queryKey[2]]) === hashKey([range]) ? rows : undefined),
  });
}
