import type { Region } from '@turnpike/config/region';
import { newUuidV7 } from '@turnpike/http-service/newUuidV7';
import { ApiError } from '@turnpike/public-api/apiError';
import { type Origin, writeAudit } from '../audit/audit.ts';
import type { Db, Tx } from '../database/openDatabase.ts';
import { tell } from '../feed/feed.ts';

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

/** The credit of the first workspace that a user makes, in whatever organization. Undefined: there is none. */
export type WelcomeCredit = { nanoUsd: bigint } | undefined;

/**
 * Makes the one workspace of an organization in a region, and tells the region. Of rivals at the same time one makes it. It is set up for
 * billing where it gets a credit to begin with.
 */
export async function createWorkspace(
  { db, welcomeCredit }: { db: Db; welcomeCredit: WelcomeCredit },
  { organizationId, userId, region, name }: { organizationId: string; userId: string; region: Region; name: string },
  origin: Origin,
) {
  const workspaceId = `ws_${newUuidV7()}`;
  return db.$transaction(async (tx) => {
    const credit = welcomeCredit && (await takeWelcome(tx, userId)) ? welcomeCredit : undefined;
    const status = credit ? 'active' : 'not_provisioned';
    const { count } = await tx.workspace.createMany({
      data: [{ workspaceId, organizationId, region, name, status }],
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
    await tell(tx, region, {
      kind: 'workspace',
      workspace_id: workspaceId,
      organization_id: organizationId,
      name,
      status,
      monthly_cap_nano_usd: null,
      version: row.version,
    });
    if (credit)
      await tell(tx, region, {
        kind: 'credit',
        credit_id: `welcome_${workspaceId}`,
        workspace_id: workspaceId,
        nano_usd: String(credit.nanoUsd),
        note: 'credit to begin with',
      });
    return toBody(row);
  });
}

/** Says whether the user gets the credit to begin with, which is once. */
async function takeWelcome(tx: Tx, userId: string): Promise<boolean> {
  const { count } = await tx.user.updateMany({ where: { userId, welcomedAt: null }, data: { welcomedAt: new Date() } });
  return count === 1;
}
