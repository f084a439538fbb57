import { MutationCache, QueryCache, QueryClient, queryOptions } from '@tanstack/react-query';
import type { Region } from '@turnpike/config/region';
import { accountApi } from '@turnpike/console-api/accountApi';
import { callRoute, Refused } from '@turnpike/console-api/callRoute';
import { PAGES } from '@turnpike/console-api/pages';
import type { Role } from '@turnpike/console-api/roles';

export const { routes } = accountApi;

const MOST_RETRIES = 2;
const FRESH_MS = 10_000;

/** Retries reads that could not be sent, and those that met a failure of the service. */
export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: FRESH_MS,
      // A call of a browser that counts itself as offline fails in words, instead of waiting without a word.
      networkMode: 'always',
      retry: (failures, error) => failures < MOST_RETRIES && !(error instanceof Refused && isFinal(error)),
    },
    mutations: { networkMode: 'always' },
  },
  queryCache: new QueryCache({ onError: leaveWithoutSession }),
  mutationCache: new MutationCache({ onError: leaveWithoutSession }),
});

/** A refusal stays one. A read that timed out has waited long enough. */
const isFinal = ({ status, error }: Refused): boolean => (status >= 400 && status < 500) || error === 'timed_out';

/** Shows the sign-in page after a session ended, without what was loaded in that session. */
function leaveWithoutSession(error: Error): void {
  const isOpenPage = [PAGES.signIn, PAGES.invitation].some((path) => path === location.pathname);
  if (error instanceof Refused && error.error === 'no_session' && !isOpenPage) location.assign(PAGES.signIn);
}

export const userQuery = queryOptions({ queryKey: ['user'], queryFn: () => callRoute(routes.getUser) });
export const providersQuery = queryOptions({
  queryKey: ['providers'],
  queryFn: () => callRoute(routes.listProviders),
});
export const passkeysQuery = queryOptions({ queryKey: ['passkeys'], queryFn: () => callRoute(routes.listPasskeys) });
export const sessionsQuery = queryOptions({ queryKey: ['sessions'], queryFn: () => callRoute(routes.listSessions) });
export const organizationsQuery = queryOptions({
  queryKey: ['organizations'],
  queryFn: () => callRoute(routes.listOrganizations),
});
export const organizationQuery = (organizationId: string) =>
  queryOptions({
    queryKey: ['organization', organizationId],
    queryFn: () => callRoute(routes.getOrganization, { params: { organization_id: organizationId } }),
  });
export const membersQuery = (organizationId: string) =>
  queryOptions({
    queryKey: ['members', organizationId],
    queryFn: () => callRoute(routes.listMembers, { params: { organization_id: organizationId } }),
  });
export const invitationsQuery = (organizationId: string) =>
  queryOptions({
    queryKey: ['invitations', organizationId],
    queryFn: () => callRoute(routes.listInvitations, { params: { organization_id: organizationId } }),
  });
export const regionsQuery = queryOptions({ queryKey: ['regions'], queryFn: () => callRoute(routes.listRegions) });
export const workspacesQuery = (organizationId: string) =>
  queryOptions({
    queryKey: ['workspaces', organizationId],
    queryFn: () => callRoute(routes.listWorkspaces, { params: { organization_id: organizationId } }),
  });

export const REGION_NAMES: Record<Region, string> = { us: 'United States', eu: 'European Union' };

export interface WorkspaceParams {
  organizationId: string;
  workspaceId: string;
}

/** A workspace with what its pages need: the hosts of its region, and the role of the user. */
export interface Workspace extends WorkspaceParams {
  name: string;
  region: Region;
  consoleUrl: string;
  baseUrl: string;
  role: Role;
}

export const workspaceQuery = (organizationId: string, workspaceId: string) =>
  queryOptions({
    queryKey: ['workspace', organizationId, workspaceId],
    async queryFn(): Promise<Workspace> {
      const [{ role }, { workspaces }, { regions }] = await Promise.all([
        queryClient.fetchQuery(organizationQuery(organizationId)),
        queryClient.fetchQuery(workspacesQuery(organizationId)),
        queryClient.fetchQuery(regionsQuery),
      ]);
      const workspace = workspaces.find(({ workspace_id: id }) => id === workspaceId);
      if (!workspace)
        throw new Refused(404, { error: 'unknown_workspace', message: 'This organization has no such workspace.' });
      const { name, region } = workspace;
      const hosts = regions.find((entry) => entry.region === region);
      if (!hosts)
        throw new Refused(404, { error: 'unknown_region', message: 'This dashboard has no pages of this region.' });
      const { console_url: consoleUrl, base_url: baseUrl } = hosts;
      return { organizationId, workspaceId, name, region, consoleUrl, baseUrl, role };
    },
  });
