import { type Repetition, repeat } from '@turnpike/lifecycle/repeat';
import { sql } from '@turnpike/postgres/sql';
import { BackendFault, type BackendJob, type Dialect, type Replica } from '../../terms/backend.ts';
import type { JobDependencies } from '../dependencies.ts';

/** Pause between two lists of each replica's clips. */
const ROUND_MS = 60_000;
/** Age at which a clip that no row names is an orphan. */
const UNNAMED_MS = 120_000;

export interface ReaperOptions extends Pick<JobDependencies, 'db' | 'backends' | 'metrics' | 'log'> {
  roundMs?: number;
  unnamedMs?: number;
}

/**
 * Removes replicas' clips that no row names: of lost answers, of cancelled jobs, and from before a restore of the
 * database. So a replica may serve one stack only. A clip that a row names may disappear from its replica at any time.
 */
export function reapOrphans({
  db,
  backends,
  metrics,
  log,
  roundMs = ROUND_MS,
  unnamedMs = UNNAMED_MS,
}: ReaperOptions): Repetition {
  /** Since when an id of a replica has been seen unnamed, by our own clock: a backend's may be wrong. */
  let unnamed = new Map<string, number>();

  async function reap(replica: Replica, dialect: Dialect, signal: AbortSignal): Promise<Map<string, number>> {
    const listed: BackendJob[] = [];
    for await (const job of dialect.listVideos?.(replica, signal) ?? []) listed.push(job);
    const ids = listed.map(({ id }) => id);
    // Read after the list: a job that was begun since is not in it. Of any replica: another process' file may name it otherwise.
    const rows = await db.query(sql<{ id: string }>`
      SELECT backend_id AS id FROM job
      WHERE backend_id = ANY(${ids}) AND backend_cleared_at IS NULL`);
    const named = new Set(rows.map(({ id }) => id));
    const still = new Map<string, number>();
    const now = performance.now();
    for (const id of ids) {
      if (named.has(id)) continue;
      const name = `${replica.id} ${id}`;
      const since = unnamed.get(name) ?? now;
      if (now - since < unnamedMs || !(await remove(replica, dialect, id, signal))) still.set(name, since);
    }
    return still;
  }

  /** Returns false if the replica does not remove the clip, which must not keep its other clips. */
  async function remove(replica: Replica, dialect: Dialect, id: string, signal: AbortSignal): Promise<boolean> {
    try {
      await dialect.deleteVideo?.(replica, id, signal);
    } catch (error) {
      if (!(error instanceof BackendFault)) throw error;
      log.debug({ err: error, replica: replica.id }, 'a backend did not remove an orphan: tried again');
      return false;
    }
    metrics.orphanRemoved(replica);
    log.warn({ replica: replica.id }, 'removed an orphan at a backend');
    return true;
  }

  return repeat(
    async (signal) => {
      const seen: Map<string, number>[] = [];
      for (const { replica, isUp } of backends.list()) {
        const dialect = backends.dialectOf(replica);
        if (!isUp || !dialect.listVideos) continue;
        const found = await reap(replica, dialect, signal).catch((error: unknown) => {
          if (error instanceof BackendFault) return new Map<string, number>();
          throw error;
        });
        seen.push(found);
      }
      unnamed = new Map(seen.flatMap((each) => [...each]));
    },
    { pauseMs: roundMs, pausesFirst: true, log, failing: 'orphans at backends cannot be listed' },
  );
}
