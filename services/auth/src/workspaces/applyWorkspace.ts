import type { FeedEntry } from '@turnpike/feed/feedPage';
import { FeedRefused } from '@turnpike/feed/followFeed';
import type { Queryable } from '@turnpike/postgres/database';
import { sql } from '@turnpike/postgres/sql';

/**
 * Brings the account layer's side of a workspace up to date, and notes that the router is not told yet. Creates an unknown workspace,
 * active on the operator's side. An entry whose version is not higher changes nothing. Throws `FeedRefused` for a second workspace of an
 * organization, and for a workspace of another organization.
 */
export async function applyWorkspace(
  tx: Queryable,
  entry: Extract<FeedEntry, { kind: 'workspace' }>,
  region: string,
): Promise<void> {
  const { workspace_id: id, organization_id: organizationId, name, status, monthly_cap_nano_usd: cap, version } = entry;
  const added = await tx.execute(sql`
    INSERT INTO workspace
      (workspace_id, organization_id, name, region, billing_status, account_status, account_cap_nano_usd, account_version)
    VALUES (${id}, ${organizationId}, ${name}, ${region}, 'active', ${status}, ${cap}, ${version})
    ON CONFLICT DO NOTHING`);
  if (added === 1) return;
  await tx.execute(sql`
    UPDATE workspace SET
      name = ${name}, account_status = ${status}, account_cap_nano_usd = ${cap}, account_version = ${version},
      version = version + 1, is_gate_told = false
    WHERE workspace_id = ${id} AND organization_id = ${organizationId} AND coalesce(account_version, 0) < ${version}`);
  const [known] = await tx.query(sql<{ organizationId: string }>`
    SELECT organization_id AS "organizationId" FROM workspace WHERE workspace_id = ${id}`);
  if (known?.organizationId !== organizationId)
    throw new FeedRefused(`the workspace ${id} of the feed contradicts the workspaces of the region`);
}
