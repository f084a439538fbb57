import { queryOptions, useInfiniteQuery } from '@tanstack/react-query';
import { type Arguments, callHost, callRoute, Refused } from '@turnpike/console-api/callRoute';
import { type ConsoleRoute, keysConsoleApi, usageConsoleApi } from '@turnpike/console-api/consoleApi';
import { useEffect } from 'react';
import type * as z from 'zod/mini';
import { queryClient, routes, type Workspace } from './account.ts';

/** Age at which a token is replaced. A token is valid for 5 minutes. */
const TOKEN_FRESH_MS = 4 * 60_000;

/** The console token of a workspace. The cache keeps it in memory alone, and asks for one token at a time. */
const tokenQuery = ({ organizationId, workspaceId }: Workspace) =>
  queryOptions({
    queryKey: ['console token', workspaceId],
    async queryFn() {
      const params = { organization_id: organizationId, workspace_id: workspaceId };
      return (await callRoute(routes.createConsoleToken, { params })).token;
    },
    staleTime: TOKEN_FRESH_MS,
  });

/** A region knows a new workspace within 5 s. */
const UNKNOWN_FOR_MS = 6_000;
const UNKNOWN_PAUSE_MS = 500;

/** Repeats a call while the region does not know the workspace yet. */
async function untilKnown<Answer>(call: () => Promise<Answer>): Promise<Answer> {
  const deadline = performance.now() + UNKNOWN_FOR_MS;
  for (;;) {
    try {
      return await call();
    } catch (error) {
      const isUnknown = error instanceof Refused && error.error === 'workspace_not_found';
      if (!isUnknown || performance.now() > deadline) throw error;
      await new Promise((resolve) => setTimeout(resolve, UNKNOWN_PAUSE_MS));
    }
  }
}

/** Calls a route of the console host of a workspace's region. */
export const callConsole = <const R extends ConsoleRoute>(workspace: Workspace, route: R, ...question: Arguments<R>) =>
  withToken(workspace, (token) => untilKnown(() => callHost({ url: workspace.consoleUrl, token }, route, ...question)));

/** Makes a call with a console token. Asks for a new token once if the host refuses the token. */
export async function withToken<Answered>(
  workspace: Workspace,
  callWith: (token: string) => Promise<Answered>,
): Promise<Answered> {
  const query = tokenQuery(workspace);
  const token = await queryClient.fetchQuery(query);
  try {
    return await callWith(token);
  } catch (error) {
    if (!(error instanceof Refused && error.status === 401)) throw error;
    // Another call may have replaced the token meanwhile.
    if (queryClient.getQueryData(query.queryKey) === token)
      await queryClient.invalidateQueries({ queryKey: query.queryKey, refetchType: 'none' });
    return callWith(await queryClient.fetchQuery(query));
  }
}

export const { routes: keyRoutes } = keysConsoleApi;
export type Key = z.output<typeof keyRoutes.listKeys.answer>['keys'][number];

/** Reads the keys of a workspace, the newest first: page after page, as the region gives them by id. */
export function useKeys(workspace: Workspace) {
  const query = useInfiniteQuery({
    queryKey: ['keys', workspace.workspaceId],
    queryFn: ({ pageParam: after }) => callConsole(workspace, keyRoutes.listKeys, { params: { after } }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next_after: next }) => next ?? undefined,
    select: sortKeys,
    // Each of many pages would be compared with all keys so far.
    structuralSharing: false,
  });
  const { hasNextPage, isFetching, error, fetchNextPage } = query;
  useEffect(() => {
    if (hasNextPage && !isFetching && !error) void fetchNextPage();
  }, [hasNextPage, isFetching, error, fetchNextPage]);
  return query;
}

const sortKeys = ({ pages }: { pages: { keys: Key[] }[] }): Key[] =>
  pages.flatMap(({ keys }) => keys).sort((a, b) => (a.created_at < b.created_at ? 1 : -1));

/** The spend of each key of a workspace since the first of the month, UTC, in nano-dollars. */
export const monthByKeyQuery = (workspace: Workspace) =>
  queryOptions({
    queryKey: ['month by key', workspace.workspaceId],
    async queryFn() {
      const now = new Date();
      const toDay = (date: number) => new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), date)).toISOString();
      const params = {
        start: toDay(1).slice(0, 10),
        end: toDay(now.getUTCDate() + 1).slice(0, 10),
        by: 'range' as const,
        group: 'key' as const,
      };
      const { usage } = await callConsole(workspace, usageConsoleApi.routes.listUsage, { params });
      return new Map(usage.map(({ key_id: keyId, charge_nano_usd: charge }) => [keyId ?? '', BigInt(charge)]));
    },
  });

/** Time after which a shown page reads live amounts again. */
const LIVE_MS = 10_000;

/** The live spend of a key, and the use of its limits per minute. */
export const headroomQuery = (workspace: Workspace, keyId: string) =>
  queryOptions({
    queryKey: ['headroom', workspace.workspaceId, keyId],
    queryFn: () => callConsole(workspace, keyRoutes.getKeyHeadroom, { params: { key_id: keyId } }),
    refetchInterval: LIVE_MS,
  });
export type Headroom = z.output<typeof keyRoutes.getKeyHeadroom.answer>;

export const creditQuery = (workspace: Workspace) =>
  queryOptions({
    queryKey: ['credit', workspace.workspaceId],
    queryFn: () => callConsole(workspace, keyRoutes.getCredit),
    // A page that is opened after a call shows what the call cost.
    staleTime: 0,
  });
export const spendRateQuery = (workspace: Workspace) =>
  queryOptions({
    queryKey: ['spend rate', workspace.workspaceId],
    queryFn: () => callConsole(workspace, usageConsoleApi.routes.getSpendRate),
  });
