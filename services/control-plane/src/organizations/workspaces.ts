import type { Region } from '@turnpike/config/region';
import { newUuidV7 } from '@turnpike/http-service/newUuidV7';
import { ApiError } from '@turnpike/public-api/apiError';
import { type Origin, writeAudit } from '../audit/audit.ts';
import type { Db } from '../database/openDatabase.ts';

interface WorkspaceRow {
  workspaceId: string;
  region: string;
  name: string;
  createdAt: Date;
}

const toBody = ({ workspaceId, region, name, createdAt }: WorkspaceRow) => ({
  workspace_id: workspaceId,
  region: region as Region,
  name,
  created_at: createdAt.toISOString(),
});

export async function listWorkspaces(db: Db, organizationId: string) {
  return (await db.workspace.findMany({ where: { organizationId }, orderBy: { createdAt: 'asc' } })).map(toBody);
}

/** Makes the one workspace of an organization in a region. Of rivals at the same time one makes it. */
export async function createWorkspace(
  db: Db,
  { organizationId, userId, region, name }: { organizationId: string; userId: string; region: Region; name: string },
  origin: Origin,
) {
  const workspaceId = `ws_${newUuidV7()}`;
  return db.$transaction(async (tx) => {
    const { count } = await tx.workspace.createMany({
      data: [{ workspaceId, organizationId, region, name }],
      skipDuplicates: true,
    });
    if (count === 0) throw new ApiError({ kind: 'workspace_exists' });
    const row = await tx.workspace.findUniqueOrThrow({ where: { workspaceId } });
    await writeAudit(tx, origin, {
      organizationId,
      actor: userId,
      action: 'workspace.created',
      target: workspaceId,
      after: { region, name },
    });
    return toBody(row);
  });
}
