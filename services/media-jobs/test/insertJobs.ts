import type { Queryable } from '@turnpike/postgres/database';
import { sql } from '@turnpike/postgres/sql';

/** Returns the id of the nth job that `insertJobs` inserts into a workspace. */
export const jobIdOf = (workspaceId: string, nth: number): string =>
  `job_${`${workspaceId.slice(3).slice(-12)}x${nth}`.padStart(22, '0')}`;

/** Inserts jobs of two keys of a workspace in turn, one a second, and lets every `failedEvery`-th fail. */
export async function insertJobs(
  db: Queryable,
  {
    workspaceId,
    jobs,
    failedEvery = 0,
    isHidden = false,
    model = 'a-model',
  }: { workspaceId: string; jobs: number; failedEvery?: number; isHidden?: boolean; model?: string },
): Promise<void> {
  const ids = Array.from({ length: jobs }, (_, index) => jobIdOf(workspaceId, index + 1));
  await db.execute(sql`
    INSERT INTO job (job_id, workspace_id, key_id, operation, modality, model, is_hidden, params, sealed_texts, inputs, digest,
      deadline_at, owner, call_id, hold, hold_nano_usd, price_version, billing_unit, unit_price, units_bound, created_at)
    SELECT id, ${workspaceId}, 'key_' || n % 2, 'images.generations', 'image',
      ${model}, ${isHidden}, '{"n": 1, "style": "vivid"}', 'the prompt', '[{"key": "jobs/upload", "bytes": 1, "type": "image/png"}]',
      sha256(n::TEXT::BYTEA), now() + INTERVAL '1 hour', 'an-owner', gen_random_uuid(), '{}', 1000, 3, 'image', '0.0000005', 1,
      TIMESTAMPTZ '2026-11-01T00:00Z' + make_interval(secs => n)
    FROM unnest(${ids}::TEXT[]) WITH ORDINALITY AS listed (id, n)`);
  await db.execute(sql`
    UPDATE job SET state = 'failed', error_code = 'generation_failed', event = '{}', ended_at = now(), charge_nano_usd = 0,
      remove_at = now()
    WHERE workspace_id = ${workspaceId} AND ${failedEvery}::INT > 0
      AND extract(epoch FROM created_at - TIMESTAMPTZ '2026-11-01T00:00Z')::INT % greatest(${failedEvery}::INT, 1) = 0`);
}
