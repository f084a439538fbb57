import type { Queryable } from '@turnpike/postgres/database';
import { sql } from '@turnpike/postgres/sql';
import type { JobDependencies } from '../dependencies.ts';
import type { RunTimes } from '../times.ts';
import { toStep } from '../transitions.ts';
import { interval, isDue, JOB_COLUMNS, type JobRow } from './jobRow.ts';

/** Advisory lock under which jobs are begun. */
export const TURN_LOCK = 4_071_882_315;

export interface TakeOptions {
  replica: { id: string; model: string; slots: number };
  /** Jobs of one key that may be rendered at a time. */
  activePerKey: number;
  /** Time for which a job that this replica has turned away is left to the others. */
  leftToOthersMs: number;
  leaseMs: number;
  runTimes: RunTimes;
}

/** Returns the models that have a queued job. */
export async function listQueuedModels(db: Queryable): Promise<string[]> {
  const rows = await db.query(sql<{ model: string }>`
    WITH RECURSIVE queued AS (
      (SELECT model FROM job WHERE state = 'queued' ORDER BY model LIMIT 1)
      UNION ALL
      SELECT next.model FROM queued CROSS JOIN LATERAL (
        SELECT model FROM job WHERE state = 'queued' AND model > queued.model ORDER BY model LIMIT 1
      ) AS next
    )
    SELECT model FROM queued`);
  return rows.map(({ model }) => model);
}

/**
 * Begins the job whose turn it is on a replica, if the replica has a free slot. Candidates are the keys with fewer jobs under way than they
 * may have. The workspace whose last turn is longest ago is first, in it the key whose last turn is longest ago, with its oldest job.
 *
 * Turns are taken one after the other in the whole region, so that no slot is given twice. The statement steps from key to key in an index
 * of queued jobs alone, so that neither history nor one long queue makes it slower.
 */
export function takeQueued(
  db: JobDependencies['db'],
  { replica, activePerKey, leftToOthersMs, leaseMs, runTimes }: TakeOptions,
): Promise<JobRow | undefined> {
  return db.transaction(async (tx) => {
    await tx.execute(sql`SELECT pg_advisory_xact_lock(${TURN_LOCK}::BIGINT)`);
    const rows = await tx.query(sql<JobRow>`
      WITH RECURSIVE waiting AS (
        (
          SELECT workspace_id, key_id FROM job WHERE state = 'queued' AND model = ${replica.model}
          ORDER BY workspace_id, key_id LIMIT 1
        )
        UNION ALL
        SELECT next.workspace_id, next.key_id FROM waiting CROSS JOIN LATERAL (
          SELECT workspace_id, key_id FROM job
          WHERE state = 'queued' AND model = ${replica.model}
            AND (workspace_id, key_id) > (waiting.workspace_id, waiting.key_id)
          ORDER BY workspace_id, key_id LIMIT 1
        ) AS next
      ), first_of_key AS (
        SELECT waiting.workspace_id, waiting.key_id, oldest.job_id, oldest.created_at FROM waiting CROSS JOIN LATERAL (
          SELECT job_id, created_at FROM job
          WHERE state = 'queued' AND model = ${replica.model}
            AND workspace_id = waiting.workspace_id AND key_id = waiting.key_id
            AND ${isDue(leaseMs)} AND deadline_at > now()
            AND (replica IS DISTINCT FROM ${replica.id} OR due_at <= now() - ${interval(leftToOthersMs)})
          ORDER BY created_at, job_id LIMIT 1
        ) AS oldest
        WHERE (
          SELECT count(*) FROM job WHERE key_id = waiting.key_id AND state IN ('submitting', 'running', 'storing')
        ) < ${activePerKey}
      )
      UPDATE job SET ${toStep('begin', [{ replica, leaseMs, runTimes }]).assignments}
      WHERE state = 'queued' AND job_id = (
        SELECT job_id FROM first_of_key LEFT JOIN turn USING (workspace_id)
        -- Ids of keys and of workspaces differ.
        LEFT JOIN turn AS turn_of_key ON turn_of_key.workspace_id = first_of_key.key_id
        ORDER BY turn.begun_at NULLS FIRST, turn_of_key.begun_at NULLS FIRST, created_at, job_id LIMIT 1
      ) AND (
        SELECT count(*) FROM job WHERE replica = ${replica.id} AND state IN ('submitting', 'running')
      ) < ${replica.slots}
      RETURNING ${JOB_COLUMNS}`);
    const [row] = rows;
    if (row)
      await tx.execute(sql`
        INSERT INTO turn (workspace_id, begun_at)
        VALUES (${row.workspaceId}, clock_timestamp()), (${row.keyId}, clock_timestamp())
        ON CONFLICT (workspace_id) DO UPDATE SET begun_at = excluded.begun_at`);
    return row;
  });
}
