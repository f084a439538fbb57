import type { Region } from '@turnpike/config/region';
import { PAGE_SIZE } from '@turnpike/internal-api/controlPlane';
import { ApiError } from '@turnpike/public-api/apiError';
import type { Db } from '../database/openDatabase.ts';
import { toNanoText, toStatus } from './workspaces.ts';

const withOpenHold = { holds: { where: { endedAt: null }, take: 1 } } as const;

const toBody = (row: { organizationId: string; name: string; createdAt: Date; holds: unknown[] }) => ({
  organization_id: row.organizationId,
  name: row.name,
  created_at: row.createdAt.toISOString(),
  is_on_hold: row.holds.length > 0,
});

/** Lists every organization by its id, for the operator. */
export async function listAllOrganizations(db: Db, after: string) {
  const rows = await db.organization.findMany({
    where: { organizationId: { gt: after } },
    include: withOpenHold,
    orderBy: { organizationId: 'asc' },
    take: PAGE_SIZE,
  });
  const last = rows.length < PAGE_SIZE ? null : (rows.at(-1)?.organizationId ?? null);
  return { organizations: rows.map(toBody), next_after: last };
}

/** Returns an organization with its workspaces, for the operator. Throws `organization_not_found`. */
export async function getOperatedOrganization(db: Db, organizationId: string) {
  const row = await db.organization.findUnique({
    where: { organizationId },
    include: { ...withOpenHold, workspaces: { orderBy: { region: 'asc' } } },
  });
  if (!row) throw new ApiError({ kind: 'organization_not_found' });
  const body = toBody(row);
  const workspaces = row.workspaces.map((workspace) => ({
    workspace_id: workspace.workspaceId,
    region: workspace.region as Region,
    name: workspace.name,
    status: toStatus(workspace.status, body.is_on_hold),
    monthly_cap_nano_usd: toNanoText(workspace.monthlyCapNanoUsd),
    version: workspace.version,
    created_at: workspace.createdAt.toISOString(),
  }));
  return { ...body, workspaces };
}
