import { useQuery } from '@tanstack/react-query';
import { Link, Outlet, useMatches, useParams } from '@tanstack/react-router';
import { PAGES } from '@turnpike/console-api/pages';
import { hasRight, type Role } from '@turnpike/console-api/roles';
import { createContext, type ReactNode, useContext, useState } from 'react';
import { type Workspace, workspaceQuery, workspacesQuery } from '../account.ts';
import { Loaded, Name } from './states.tsx';

/** The pages of a workspace, in the order of their links. */
const WORKSPACE_PAGES = [
  { path: PAGES.overview, title: 'Overview', right: 'organization.read' },
  { path: PAGES.keys, title: 'Keys', right: 'keys.read' },
  { path: PAGES.limits, title: 'Limits', right: 'usage.read' },
  { path: PAGES.playground, title: 'Playground', right: 'keys.write' },
  { path: PAGES.usage, title: 'Usage', right: 'usage.read' },
  { path: PAGES.requests, title: 'Requests', right: 'usage.read' },
  { path: PAGES.jobs, title: 'Jobs', right: 'usage.read' },
  { path: PAGES.billing, title: 'Billing', right: 'billing.read' },
  { path: PAGES.alerts, title: 'Alerts', right: 'billing.read' },
] as const;

const WorkspaceContext = createContext<Workspace | undefined>(undefined);
/** The secret of a key that was created or rotated just now. `isLost`: the answer was lost, so the region may not have the secret. */
export interface ShownSecret {
  text: string;
  isLost?: boolean;
}
type NewSecret = [secret: ShownSecret | undefined, setSecret: (secret: ShownSecret | undefined) => void];
const NewSecretContext = createContext<NewSecret>([undefined, () => undefined]);
/** Returns the secret of a new key and the setter of it. The secret is in memory until a page that shows it is left. */
export const useNewSecret = (): NewSecret => useContext(NewSecretContext);

/** Returns the workspace whose page this is. Throws outside `WorkspaceFrame`. */
export function useWorkspace(): Workspace {
  const workspace = useContext(WorkspaceContext);
  if (!workspace) throw new Error('this is no page of a workspace');
  return workspace;
}

/** Reads a workspace before its pages. */
export function WorkspaceFrame() {
  const { organizationId = '', workspaceId = '' } = useParams({ strict: false });
  const query = useQuery(workspaceQuery(organizationId, workspaceId));
  return (
    <Loaded query={query}>
      {(workspace) => (
        <WorkspaceContext value={workspace}>
          <WithNewSecret key={workspaceId}>
            <Outlet />
          </WithNewSecret>
        </WorkspaceContext>
      )}
    </Loaded>
  );
}

function WithNewSecret({ children }: { children: ReactNode }) {
  const [secret, setSecret] = useState<ShownSecret>();
  return <NewSecretContext value={[secret, setSecret]}>{children}</NewSecretContext>;
}

/** The workspaces of an organization, with the pages of the current workspace. Another workspace opens at the same page. */
export function WorkspaceLinks({ organizationId, role }: { organizationId: string; role: Role }) {
  const { workspaceId: current } = useParams({ strict: false });
  const shown = useMatches({ select: (matches) => matches.at(-1)?.fullPath });
  const { data } = useQuery(workspacesQuery(organizationId));
  const pages = WORKSPACE_PAGES.filter(({ right }) => hasRight(role, right));
  const samePage = pages.find(({ path }) => path === shown)?.path ?? PAGES.overview;
  return data?.workspaces.map(({ workspace_id: workspaceId, name, region }) =>
    workspaceId === current ? (
      <div key={workspaceId} className="shell-workspace">
        <span className="shell-heading">
          <Name>{name}</Name> ({region})
        </span>
        {pages.map(({ path, title }) => (
          <Link
            key={path}
            to={path}
            params={{ organizationId, workspaceId }}
            activeOptions={{ exact: true, includeSearch: false }}
          >
            {title}
          </Link>
        ))}
      </div>
    ) : (
      <Link key={workspaceId} to={samePage} params={{ organizationId, workspaceId }}>
        <Name>{name}</Name> ({region})
      </Link>
    ),
  );
}
