import { type FeedFollower, followFeed } from '@turnpike/feed/followFeed';
import type { Repetition } from '@turnpike/lifecycle/repeat';
import type { Logger } from '@turnpike/logging/createLogger';
import { sql } from '@turnpike/postgres/sql';
import type { Db } from '../database/openDatabases.ts';
import { findKeyGenerations } from '../keys/keyGeneration.ts';
import type { RouterClient } from '../router/routerClient.ts';
import { applyWorkspace } from '../workspaces/applyWorkspace.ts';

export interface WorkspaceFollower extends Omit<FeedFollower, 'applyEntry' | 'tellGate'> {
  db: Db;
  router: Pick<RouterClient, 'announceGenerations'>;
  /** Forgets verdicts on keys of before a change. */
  forgetVerdicts: () => void;
}

/** Applies the account layer's workspaces to the region, and tells the router of each change. */
export function followWorkspaces({ router, forgetVerdicts, ...follower }: WorkspaceFollower): Repetition | undefined {
  const { db, region, log } = follower;
  return followFeed({
    ...follower,
    async applyEntry(tx, entry) {
      if (entry.kind === 'workspace') await applyWorkspace(tx, entry, region);
    },
    tellGate: () => tellGate({ db, router, forgetVerdicts, log }),
  });
}

/** Workspaces of one read. */
const TOLD_AT_ONCE = 100;

/**
 * Tells the router of changed workspaces, oldest ids first. A workspace stays noted until the router has heard of its version, whatever
 * process changed it. Throws `gate_not_told`.
 */
async function tellGate({
  db,
  router,
  forgetVerdicts,
  log,
}: Pick<WorkspaceFollower, 'db' | 'router' | 'forgetVerdicts'> & { log: Logger }): Promise<void> {
  for (;;) {
    const changed = await db.query(sql<{ workspaceId: string; version: number }>`
      SELECT workspace_id AS "workspaceId", version FROM workspace
      WHERE NOT is_gate_told ORDER BY workspace_id LIMIT ${TOLD_AT_ONCE}`);
    if (changed.length > 0) forgetVerdicts();
    for (const workspace of changed) {
      const { workspaceId, version } = workspace;
      await router.announceGenerations(await findKeyGenerations(db, workspace), log);
      await db.execute(sql`
        UPDATE workspace SET is_gate_told = true WHERE workspace_id = ${workspaceId} AND version = ${version}`);
      log.info({ workspaceId, version }, 'workspace of the account layer set');
    }
    if (changed.length < TOLD_AT_ONCE) return;
  }
}
