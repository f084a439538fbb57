import type { SigningKey } from '@turnpike/config/internalKeys';
import type { Region } from '@turnpike/config/region';
import { DIGEST_WORKSPACES, hashState, signDigest, type WorkspaceState } from '@turnpike/feed/feedDigest';
import { sql } from '@turnpike/postgres/sql';
import type { Db } from '../database/openDatabase.ts';
import { toStatus } from './workspaces.ts';

interface WorkspaceRow extends WorkspaceState {
  status: string;
  isHeld: boolean;
}

/** Hashes the workspaces of a region behind `after` by id, as their rows and holds have them, and signs the hashes. */
export async function readDigest(
  db: Db,
  { region, after }: { region: Region; after: string },
  key: SigningKey,
): Promise<string> {
  const { epoch, last, rows } = await db.snapshot(async (tx) => {
    const [feed] = await tx.query(sql<{ epoch: string; last: number }>`
      SELECT epoch::text AS epoch, (SELECT coalesce(max(seq), 0) FROM feed WHERE region = ${region}) AS last FROM feed_epoch`);
    if (!feed) throw new Error('the account database has no epoch');
    const rows = await tx.query(sql<WorkspaceRow>`
      SELECT workspace_id AS "workspaceId", organization_id AS "organizationId", status, monthly_cap_nano_usd AS "monthlyCapNanoUsd",
        EXISTS (SELECT FROM account_hold WHERE organization_id = workspace.organization_id AND ended_at IS NULL) AS "isHeld"
      FROM workspace WHERE region = ${region} AND workspace_id > ${after} ORDER BY workspace_id LIMIT ${DIGEST_WORKSPACES}`);
    return { ...feed, rows };
  });
  const workspaces = rows.map(({ isHeld, ...row }) => ({
    workspace_id: row.workspaceId,
    hash: hashState({ ...row, status: toStatus(row.status, isHeld) }),
  }));
  return signDigest({ region, epoch, last, after, workspaces }, key);
}
