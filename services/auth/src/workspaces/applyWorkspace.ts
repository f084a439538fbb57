import type { FeedEntry } from '@turnpike/feed/feedPage';
import { FeedRefused } from '@turnpike/feed/followFeed';
import type { Queryable } from '@turnpike/postgres/database';
import { sqlStateOf } from '@turnpike/postgres/databaseFailure';
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
  function refuse(cause?: unknown): never {
    throw new FeedRefused(`the workspace ${id} of the feed contradicts the workspaces of the region`, { cause });
  }
  const put = sql`
    INSERT INTO workspace AS known
      (workspace_id, organization_id, name, region, billing_status, account_status, account_cap_nano_usd, account_version)
    VALUES (${id}, ${organizationId}, ${name}, ${region}, 'active', ${status}, ${cap}, ${version})
    ON CONFLICT (workspace_id) DO UPDATE SET
      name = excluded.name,
      account_status = excluded.account_status,
      account_cap_nano_usd = excluded.account_cap_nano_usd,
      account_version = excluded.account_version,
      version = known.version + 1,
      is_gate_told = false
    WHERE known.organization_id = excluded.organization_id
      AND coalesce(known.account_version, 0) < excluded.account_version`;
  const changed = await tx.execute(put).catch((error: unknown) => {
    if (sqlStateOf(error) !== '23505') throw error; // but a unique violation: the organization has another
    return refuse(error);
  });
  if (changed === 1) return;
  const [known] = await tx.query(sql<{ organizationId: string }>`
    SELECT organization_id AS "organizationId" FROM workspace WHERE workspace_id = ${id}`);
  if (known?.organizationId !== organizationId) refuse();
}
