import { ApiError } from '@turnpike/public-api/apiError';
import type { AuthServiceFault } from '../api/authServiceError.ts';
import type { Db } from '../database/openDatabases.ts';
import type { VersionedWorkspace } from './putWorkspace.ts';

/** A workspace by its id. Throws `workspace_not_found`. */
export async function getWorkspace(db: Db, workspaceId: string): Promise<VersionedWorkspace> {
  const workspace = await db.workspace.findUnique({ where: { workspaceId } });
  if (!workspace) throw new ApiError<AuthServiceFault>({ kind: 'workspace_not_found' });
  return workspace;
}

/** Some workspaces in the order of their ids: at most `limit` of those after the given id. */
export function listWorkspaces(
  db: Db,
  { after, limit }: { after: string; limit: number },
): Promise<VersionedWorkspace[]> {
  return db.workspace.findMany({
    where: { workspaceId: { gt: after } },
    orderBy: { workspaceId: 'asc' },
    take: limit,
  });
}
