import { MutationCache, QueryCache, QueryClient, queryOptions } from '@tanstack/react-query';
import { accountApi } from '@turnpike/console-api/accountApi';
import { callRoute, Refused } from '@turnpike/console-api/callRoute';
import { PAGES } from '@turnpike/console-api/pages';

export const { routes } = accountApi;

const MOST_RETRIES = 2;
const FRESH_MS = 10_000;

/** Retries reads that got no answer, or a failure of the service. */
export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: FRESH_MS,
      // A call of a browser that counts itself as offline fails in words, instead of waiting without a word.
      networkMode: 'always',
      retry: (failures, error) => failures < MOST_RETRIES && !(error instanceof Refused && isFinal(error.status)),
    },
    mutations: { networkMode: 'always' },
  },
  queryCache: new QueryCache({ onError: leaveWithoutSession }),
  mutationCache: new MutationCache({ onError: leaveWithoutSession }),
});

const isFinal = (status: number): boolean => status >= 400 && status < 500;

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
export const workspacesQuery = (organizationId: string) =>
  queryOptions({
    queryKey: ['workspaces', organizationId],
    queryFn: () => callRoute(routes.listWorkspaces, { params: { organization_id: organizationId } }),
  });
