import { sendEarly } from '@turnpike/console-api/earlyCalls';
import { PAGES } from '@turnpike/console-api/pages';

/** Pages of an organization, and of a workspace of it. */
const ORGANIZATION = /^\/organizations\/([\w-]+)\//;
const WORKSPACE = /^\/organizations\/[\w-]+\/workspaces\/([\w-]+)/;

/** Sends what a page reads first, while the browser still loads the code that shows it. */
function begin(path: string): void {
  if (path === PAGES.signIn) sendEarly('GET', '/account/sign-in/providers');
  const [, organizationId] = ORGANIZATION.exec(path) ?? [];
  const [, workspaceId] = WORKSPACE.exec(path) ?? [];
  if (organizationId === undefined) return;
  const ofOrganization = `/account/organizations/${organizationId}`;
  for (const read of ['/account/user', ofOrganization, `${ofOrganization}/workspaces`]) sendEarly('GET', read);
  if (workspaceId === undefined) return;
  sendEarly('GET', '/account/regions');
  sendEarly('POST', `${ofOrganization}/workspaces/${workspaceId}/console-token`);
}

begin(location.pathname);
await import('./main.tsx');
