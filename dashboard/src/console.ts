import { queryOptions } from '@tanstack/react-query';
import { type Arguments, callHost, callRoute, Refused } from '@turnpike/console-api/callRoute';
import type { ConsoleRoute } from '@turnpike/console-api/consoleApi';
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

/** Calls a route of the console host of a workspace's region. Asks for a new token once if the host refuses the token. */
export async function callConsole<const R extends ConsoleRoute>(
  workspace: Workspace,
  route: R,
  ...question: Arguments<R>
) {
  const query = tokenQuery(workspace);
  const callWith = (token: string) => callHost({ url: workspace.consoleUrl, token }, route, ...question);
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
