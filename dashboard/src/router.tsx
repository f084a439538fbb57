import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Outlet,
  type ParsedLocation,
  redirect,
} from '@tanstack/react-router';
import { REGIONS, type Region } from '@turnpike/config/region';
import { type ConsoleJobStatus, JOB_STATUSES } from '@turnpike/console-api/console/jobs';
import { PAGES, SIGN_IN_ERRORS, type SignInError } from '@turnpike/console-api/pages';
import * as z from 'zod/mini';
import { queryClient, userQuery, type WorkspaceParams, workspaceQuery } from './account.ts';
import { beginFirstReads } from './firstReads.ts';
import { Shell } from './shell/Shell.tsx';
import { Failed, Loading } from './shell/states.tsx';
import { WorkspaceFrame } from './shell/workspace.tsx';
import { type UsageSearch, usageSearchSchema } from './usage/period.ts';

/** Begins the reads of a page, and waits for its workspace, so that the frame around the page is drawn once. */
function readPage({
  params: { organizationId, workspaceId },
  location: { pathname, searchStr: search },
}: {
  params: WorkspaceParams;
  location: ParsedLocation;
}): Promise<void> {
  beginFirstReads({ pathname, search });
  return queryClient.prefetchQuery(workspaceQuery(organizationId, workspaceId));
}

const root = createRootRoute({
  component: Outlet,
  notFoundComponent: () => <Failed message="This page does not exist." />,
});

const start = createRoute({
  getParentRoute: () => root,
  path: PAGES.start,
  beforeLoad: () => {
    throw redirect({ to: PAGES.organizations });
  },
});
const signIn = createRoute({
  getParentRoute: () => root,
  path: PAGES.signIn,
  validateSearch: ({ error }): { error?: SignInError } => {
    const known = SIGN_IN_ERRORS.find((reason) => reason === error);
    return known ? { error: known } : {};
  },
  component: lazyRouteComponent(() => import('./pages/SignIn.tsx'), 'SignIn'),
});
const stepUp = createRoute({
  getParentRoute: () => root,
  path: PAGES.stepUp,
  component: lazyRouteComponent(() => import('./pages/StepUp.tsx'), 'StepUpByLink'),
});
const invitation = createRoute({
  getParentRoute: () => root,
  path: PAGES.invitation,
  component: lazyRouteComponent(() => import('./pages/Invitation.tsx'), 'Invitation'),
});

const refusedCalls = createRoute({
  getParentRoute: () => root,
  path: PAGES.refusedCalls,
  component: lazyRouteComponent(() => import('./pages/RefusedCalls.tsx'), 'RefusedCalls'),
});

const models = createRoute({
  getParentRoute: () => root,
  path: PAGES.models,
  validateSearch: ({ region }): { region?: Region | undefined } => {
    const known = REGIONS.find((name) => name === region);
    return known ? { region: known } : {};
  },
  component: lazyRouteComponent(() => import('./pages/Models.tsx'), 'Models'),
});

/** The pages of a signed-in user. */
const shell = createRoute({
  getParentRoute: () => root,
  id: 'shell',
  loader: () => queryClient.prefetchQuery(userQuery),
  component: Shell,
});
const sessions = createRoute({
  getParentRoute: () => shell,
  path: PAGES.sessions,
  component: lazyRouteComponent(() => import('./pages/Sessions.tsx'), 'Sessions'),
});
const organizations = createRoute({
  getParentRoute: () => shell,
  path: PAGES.organizations,
  component: lazyRouteComponent(() => import('./pages/Organizations.tsx'), 'Organizations'),
});
const members = createRoute({
  getParentRoute: () => shell,
  path: PAGES.members,
  component: lazyRouteComponent(() => import('./pages/Members.tsx'), 'Members'),
});
const workspaces = createRoute({
  getParentRoute: () => shell,
  path: PAGES.workspaces,
  component: lazyRouteComponent(() => import('./pages/Workspaces.tsx'), 'Workspaces'),
});
/** The pages of one workspace. */
const workspace = createRoute({
  getParentRoute: () => shell,
  id: 'workspace',
  component: WorkspaceFrame,
});
const overview = createRoute({
  getParentRoute: () => workspace,
  path: PAGES.overview,
  loader: readPage,
  component: lazyRouteComponent(() => import('./pages/Overview.tsx'), 'Overview'),
});
const keys = createRoute({
  getParentRoute: () => workspace,
  path: PAGES.keys,
  loader: readPage,
  component: lazyRouteComponent(() => import('./pages/Keys.tsx'), 'Keys'),
});
const key = createRoute({
  getParentRoute: () => workspace,
  path: PAGES.key,
  component: lazyRouteComponent(() => import('./pages/Key.tsx'), 'KeyPage'),
});
const keyChanges = createRoute({
  getParentRoute: () => workspace,
  path: PAGES.keyChanges,
  component: lazyRouteComponent(() => import('./pages/KeyChanges.tsx'), 'KeyChanges'),
});
const limits = createRoute({
  getParentRoute: () => workspace,
  path: PAGES.limits,
  component: lazyRouteComponent(() => import('./pages/Limits.tsx'), 'Limits'),
});
const usage = createRoute({
  getParentRoute: () => workspace,
  path: PAGES.usage,
  loader: readPage,
  validateSearch: (search): UsageSearch => z.parse(usageSearchSchema, search),
  component: lazyRouteComponent(() => import('./pages/Usage.tsx'), 'Usage'),
});
const requests = createRoute({
  getParentRoute: () => workspace,
  path: PAGES.requests,
  validateSearch: ({ id }): { id?: string } => (typeof id === 'string' ? { id } : {}),
  component: lazyRouteComponent(() => import('./pages/Requests.tsx'), 'Requests'),
});
const jobs = createRoute({
  getParentRoute: () => workspace,
  path: PAGES.jobs,
  validateSearch: ({ status }): { status?: ConsoleJobStatus | undefined } => {
    const known = JOB_STATUSES.find((name) => name === status);
    return known ? { status: known } : {};
  },
  component: lazyRouteComponent(() => import('./pages/Jobs.tsx'), 'Jobs'),
});
const billing = createRoute({
  getParentRoute: () => workspace,
  path: PAGES.billing,
  validateSearch: ({ top_up: topUp }): { top_up?: string } => (typeof topUp === 'string' ? { top_up: topUp } : {}),
  component: lazyRouteComponent(() => import('./pages/Billing.tsx'), 'Billing'),
});
const alerts = createRoute({
  getParentRoute: () => workspace,
  path: PAGES.alerts,
  component: lazyRouteComponent(() => import('./pages/Alerts.tsx'), 'Alerts'),
});
const playground = createRoute({
  getParentRoute: () => workspace,
  path: PAGES.playground,
  component: lazyRouteComponent(() => import('./pages/Playground.tsx'), 'Playground'),
});
const audit = createRoute({
  getParentRoute: () => shell,
  path: PAGES.audit,
  component: lazyRouteComponent(() => import('./pages/Audit.tsx'), 'Audit'),
});

export const router = createRouter({
  routeTree: root.addChildren([
    start,
    signIn,
    stepUp,
    invitation,
    refusedCalls,
    models,
    shell.addChildren([
      sessions,
      organizations,
      members,
      workspaces,
      workspace.addChildren([
        overview,
        keys,
        key,
        keyChanges,
        limits,
        usage,
        requests,
        jobs,
        billing,
        alerts,
        playground,
      ]),
      audit,
    ]),
  ]),
  defaultPendingComponent: Loading,
  defaultErrorComponent: () => (
    <Failed message="This page could not be shown. Load it again." retry={() => location.reload()} />
  ),
});

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}
