import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Queryable } from '@turnpike/postgres/database';
import { sql } from '@turnpike/postgres/sql';
import { listLate } from '../src/jobs/table/findJobs.ts';
import { takeDueEnded, takeDueWork } from '../src/jobs/table/steps.ts';
import { listQueuedModels, takeQueued } from '../src/jobs/table/takeQueued.ts';
import { RUN_TIMES } from '../src/jobs/times.ts';
import { openTestJobs, type TestJobs } from './openTestJobs.ts';

/** The look at a queue after a long history may read so many times the pages of one after a short history. */
const MOST_RATIO = 1.5;
const SHORT_HISTORY = 100;
const LONG_HISTORY = 100_000;
const ROUNDS = 20;
const QUEUED = 20;

let short: TestJobs;
let long: TestJobs;
beforeAll(async () => {
  [short, long] = await Promise.all([openTestJobs(), openTestJobs()]);
});
afterAll(() => Promise.all([short.close(), long.close()]));

/** Rows as jobs leave them: of 500 keys, half of them removed, the rest to be removed tomorrow. */
async function addHistory({ db }: TestJobs, jobs: number): Promise<void> {
  await db.execute(sql`
    INSERT INTO job (job_id, workspace_id, key_id, operation, modality, model, is_hidden, params, digest, state, due_at, deadline_at,
      begun_at, sent_at, replica, owner, call_id, hold, hold_nano_usd, price_version, billing_unit, unit_price, units_bound, units,
      charge_nano_usd, event, settled_at, created_at, ended_at, expires_at, remove_at, removed_at)
    SELECT 'job_' || lpad(n::TEXT, 22, '0'), 'ws_' || n % 100, 'key_' || n % 500, 'images.generations', 'image', 'a-model', false, '{}',
      sha256(n::TEXT::BYTEA), 'completed', CASE WHEN n % 2 = 0 THEN now() + INTERVAL '1 day' END, now(), now(), now(), 'replica-1',
      'an-owner', gen_random_uuid(), '{}', 1000, 1, 'image', '0.01', 1, 1, 1000, '{}', now(), now() - INTERVAL '2 days', now(),
      now() + INTERVAL '1 day', now() + INTERVAL '1 day', CASE WHEN n % 2 = 1 THEN now() END
    FROM generate_series(1, ${jobs}::INT) AS n`);
  await db.execute(sql`VACUUM ANALYZE job`);
}

async function addQueued({ db }: TestJobs): Promise<void> {
  await db.execute(sql`
    INSERT INTO job (job_id, workspace_id, key_id, operation, modality, model, is_hidden, params, digest, deadline_at, owner, call_id,
      hold, hold_nano_usd, price_version, billing_unit, unit_price, units_bound)
    SELECT 'job_' || lpad('q' || n, 22, '0'), 'ws_' || n % 5, 'key_' || n % 10, 'images.generations', 'image', 'a-model', false, '{}',
      sha256(n::TEXT::BYTEA), now() + INTERVAL '1 hour', 'an-owner', gen_random_uuid(), '{}', 1000, 1, 'image', '0.01', 1
    FROM generate_series(1, ${QUEUED}::INT) AS n`);
}

/** How many pages of jobs and their indexes one look reads, which begins a job that is put back into the queue. */
async function measureLook({ db }: TestJobs): Promise<number> {
  const replica = { id: 'replica-1', model: 'a-model', slots: 2 };
  const before = await pagesRead(db);
  await listLate(db, 100);
  await listQueuedModels(db);
  const options = { replica, activePerKey: 8, leftToOthersMs: 0, leaseMs: 15_000, runTimes: RUN_TIMES };
  const row = await takeQueued(db, options);
  await takeDueWork(db, { leaseMs: 15_000, limit: 32 });
  await takeDueEnded(db, { owner: 'an-owner', leaseMs: 15_000, limit: 32 });
  const pages = (await pagesRead(db)) - before;
  if (!row) throw new Error('no job had its turn');
  await db.execute(sql`UPDATE job SET state = 'queued', due_at = now() WHERE job_id = ${row.jobId}`);
  return pages;
}

async function pagesRead(db: Queryable): Promise<number> {
  await db.execute(sql`SELECT pg_stat_force_next_flush()`);
  const [row] = await db.query(sql<{ pages: number }>`
    SELECT (heap_blks_read + heap_blks_hit + idx_blks_read + idx_blks_hit)::INT AS pages
    FROM pg_statio_user_tables WHERE relname = 'job'`);
  return row?.pages ?? 0;
}

const middleOf = (counts: number[]): number => counts.sort((a, b) => a - b)[Math.floor(counts.length / 2)] ?? 0;

// Pages, not time: other work of the machine takes from one look and not from the next.
it(`reads no more of its jobs to look at its queue after ${LONG_HISTORY} than after ${SHORT_HISTORY}`, async () => {
  await Promise.all([addQueued(short), addQueued(long)]);
  await addHistory(short, SHORT_HISTORY);
  await addHistory(long, LONG_HISTORY);
  const pages = { short: [] as number[], long: [] as number[] };
  for (let round = 0; round < ROUNDS; round += 1) {
    pages.short.push(await measureLook(short));
    pages.long.push(await measureLook(long));
  }
  expect(middleOf(pages.short)).toBeGreaterThan(0);
  expect(middleOf(pages.long) / middleOf(pages.short)).toBeLessThanOrEqual(MOST_RATIO);
});
