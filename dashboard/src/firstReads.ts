import { KEY_STATES } from '@turnpike/console-api/console/keys';
import { PAGES } from '@turnpike/console-api/pages';
import { hasRight } from '@turnpike/console-api/roles';
import * as z from 'zod/mini';
import {
  organizationQuery,
  organizationsQuery,
  providersQuery,
  queryClient,
  userQuery,
  type Workspace,
  type WorkspaceParams,
  workspaceQuery,
  workspacesQuery,
} from './account.ts';
import { creditQuery, foundKeysQuery, type KeyChoice, spendRateQuery, toFirstKeys, tokenQuery } from './console.ts';
import { modelsQuery } from './models/readModels.ts';
import { toPeriod, toPeriodBefore, usageSearchSchema } from './usage/period.ts';
import { usageQuery } from './usage/readUsage.ts';

/** The keys that the page of keys shows first. */
export const FIRST_KEYS = toFirstKeys(KEY_STATES, 50);
/** The newest keys, which a first call offers. */
export const OFFERED_KEYS: KeyChoice = { states: ['active'], take: 100 };

/** Begins the reads of a page of a workspace, by the last part of the page's path. */
const READS_OF_PAGES: Record<string, (workspace: Workspace, search: URLSearchParams) => void> = {
  '': (workspace) => {
    void queryClient.prefetchQuery(creditQuery(workspace));
    void queryClient.prefetchQuery(spendRateQuery(workspace));
    if (!hasRight(workspace.role, 'keys.read')) return;
    void queryClient.prefetchQuery(modelsQuery(workspace.consoleUrl));
    void queryClient.prefetchQuery(foundKeysQuery(workspace, OFFERED_KEYS));
  },
  keys: (workspace) => void queryClient.prefetchQuery(foundKeysQuery(workspace, FIRST_KEYS)),
  usage: (workspace, given) => {
    const search = z.parse(usageSearchSchema, Object.fromEntries(given));
    const period = toPeriod(search, Date.now());
    if (typeof period === 'string') return;
    const { split = 'model', show = 'cost' } = search;
    void queryClient.prefetchQuery(usageQuery(workspace, period, split, show));
    void queryClient.prefetchQuery(usageQuery(workspace, toPeriodBefore(period), 'none', show));
  },
};

/** A page of an organization, and of a workspace of it. */
const ORGANIZATION_PAGE = /^\/organizations\/([\w-]+)\/(?:workspaces\/([\w-]+)(?:\/([\w-]+))?$)?/;

/** Begins what a page reads first, while the browser still loads the code of the page. A read that fails shows on the page. */
export function beginFirstReads({ pathname, search }: { pathname: string; search: string }): void {
  if (pathname === PAGES.signIn) void queryClient.prefetchQuery(providersQuery);
  if (pathname === PAGES.organizations) void queryClient.prefetchQuery(organizationsQuery);
  const [, organizationId, workspaceId, page = ''] = ORGANIZATION_PAGE.exec(pathname) ?? [];
  if (organizationId === undefined) return;
  void queryClient.prefetchQuery(userQuery);
  void queryClient.prefetchQuery(organizationQuery(organizationId));
  void queryClient.prefetchQuery(workspacesQuery(organizationId));
  if (workspaceId === undefined) return;
  const begin = READS_OF_PAGES[page];
  void beginWorkspaceReads({ organizationId, workspaceId }, (workspace) =>
    begin?.(workspace, new URLSearchParams(search)),
  );
}

/** Asks for the console token beside what is known of the workspace, then begins the reads of a page of the workspace. */
async function beginWorkspaceReads(params: WorkspaceParams, begin: (workspace: Workspace) => void): Promise<void> {
  void queryClient.prefetchQuery(tokenQuery(params));
  const query = workspaceQuery(params.organizationId, params.workspaceId);
  const workspace = await queryClient.ensureQueryData(query).catch(() => undefined);
  if (workspace) begin(workspace);
}
