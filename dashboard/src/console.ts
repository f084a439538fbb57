import { queryOptions } from '@tanstack/react-query';
import { type Arguments, callHost, callRoute, Refused } from '@turnpike/console-api/callRoute';
import type { ConsoleRoute } from '@turnpike/console-api/console/consoleRoute';
import { type KeyState, keysConsoleApi, MAX_FOUND_KEYS } from '@turnpike/console-api/console/keys';
import { usageConsoleApi } from '@turnpike/console-api/console/usage';
import { hasRight } from '@turnpike/console-api/roles';
import type * as z from 'zod/mini';
import { queryClient, routes, type Workspace, type WorkspaceParams } from './account.ts';

/** Age at which a token is replaced. A token is valid for 5 minutes. */
const TOKEN_FRESH_MS = 4 * 60_000;

/** The console token of a workspace. The cache keeps it in memory alone, and asks for one token at a time. */
export const tokenQuery = ({ organizationId, workspaceId }: WorkspaceParams) =>
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

/** Makes a call with a console token. Asks for a new token once if the host refuses the token, or the role that the token names. */
export async function withToken<Answered>(
  workspace: Workspace,
  callWith: (token: string) => Promise<Answered>,
): Promise<Answered> {
  const query = tokenQuery(workspace);
  const token = await queryClient.fetchQuery(query);
  try {
    return await callWith(token);
  } catch (error) {
    if (!(error instanceof Refused && (error.status === 401 || error.error === 'right_missing'))) throw error;
    // Another call may have replaced the token meanwhile.
    if (queryClient.getQueryData(query.queryKey) === token)
      await queryClient.invalidateQueries({ queryKey: query.queryKey, refetchType: 'none' });
    return callWith(await queryClient.fetchQuery(query));
  }
}

export const { routes: keyRoutes } = keysConsoleApi;
export type Key = z.output<typeof keyRoutes.findKeys.answer>['keys'][number];

/** The keys that a list shows. */
export interface KeyChoice {
  /** A part of the name, or the last four characters. */
  find?: string;
  states?: readonly KeyState[];
  /** Leaves out expired and revoked keys that the playground made. */
  leavesOutEndedPlayground?: boolean;
  skip?: number;
  take: number;
}

/** Returns the choice of keys with which a list begins. Each visit of the playground leaves a key, which such a list leaves out. */
export const toFirstKeys = (states: readonly KeyState[], rows: number): KeyChoice => ({
  states,
  leavesOutEndedPlayground: true,
  take: rows,
});

/** Finds keys of a workspace, the newest first. The keys of the question before are shown until the answer comes. */
export function foundKeysQuery(workspace: Workspace, choice: KeyChoice) {
  const { find = '', states, leavesOutEndedPlayground = false, skip = 0, take } = choice;
  const params = {
    ...(find !== '' && { find }),
    states: states?.join(','),
    ...(leavesOutEndedPlayground && { ended_playground: 'left_out' as const }),
    skip: `${skip}`,
    take: `${take}`,
  };
  return queryOptions({
    queryKey: ['keys', workspace.workspaceId, params],
    queryFn: async () => ({ ...(await callConsole(workspace, keyRoutes.findKeys, { params })), skip }),
    placeholderData: (found, query) => (query?.queryKey[1] === workspace.workspaceId ? found : undefined),
  });
}

const KEY_ID = /^[\w-]{1,128}$/;

/** One key of a workspace. Null if there is none. */
export const keyQuery = (workspace: Workspace, keyId: string) =>
  queryOptions({
    queryKey: ['keys', workspace.workspaceId, keyId],
    queryFn: async () => (await findById(workspace, [keyId])).get(keyId) ?? null,
  });

/** Keys of a workspace by id. None where the role does not show keys. */
export const keysByIdQuery = (workspace: Workspace, keyIds: string[]) => {
  const ids = [...new Set(keyIds)].sort();
  return queryOptions({
    queryKey: ['keys', workspace.workspaceId, ids],
    enabled: ids.length > 0 && hasRight(workspace.role, 'keys.read'),
    queryFn: () => findById(workspace, ids),
    placeholderData: (keys, query) => (query?.queryKey[1] === workspace.workspaceId ? keys : undefined),
  });
};

async function findById(workspace: Workspace, keyIds: string[]): Promise<Map<string, Key>> {
  const known = keyIds.filter((id) => KEY_ID.test(id));
  const found = new Map<string, Key>();
  for (let begin = 0; begin < known.length; begin += MAX_FOUND_KEYS) {
    const ids = known.slice(begin, begin + MAX_FOUND_KEYS).join(',');
    const params = { ids, take: `${MAX_FOUND_KEYS}` };
    const { keys } = await callConsole(workspace, keyRoutes.findKeys, { params });
    for (const key of keys) found.set(key.key_id, key);
  }
  return found;
}

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
