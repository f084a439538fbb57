import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { sql } from '@turnpike/postgres/sql';
import { openTestJobs, type TestJobs } from '../../../test/openTestJobs.ts';
import { countAhead, countQueued, findJob, listJobs } from './findJobs.ts';

const MODEL = 'a-model';
const ids: string[] = [];
let test: TestJobs;
/** Creates as many queued jobs in each workspace as its number, in turn. Its two keys have every second one. */
beforeAll(async () => {
  test = await openTestJobs();
  await test.db.execute(sql`
    INSERT INTO job (job_id, workspace_id, key_id, operation, modality, model, is_hidden, params, digest, deadline_at, owner, call_id,
      hold, hold_nano_usd, price_version, billing_unit, unit_price, units_bound, created_at)
    SELECT 'video_' || lpad(ws || 'x' || n, 22, '0'), 'ws_' || ws, 'key_' || ws || '_' || n % 2, 'videos', 'video', ${MODEL}, false, '{}',
      sha256(n::TEXT::BYTEA), now() + INTERVAL '1 hour', 'an-owner', gen_random_uuid(), '{}', 1000, 1, 'second', '0.01', 1,
      now() + make_interval(secs => n)
    FROM (VALUES (1), (3), (40)) AS workspace (ws) CROSS JOIN LATERAL generate_series(1, ws) AS n`);
  ids.push(...[1, 2, 3].map((nth) => `video_${`3x${nth}`.padStart(22, '0')}`));
});
afterAll(() => test.close());

it('gives a page of jobs with their places in the queue in one statement', async () => {
  const list = { keyId: 'key_3_1', modality: 'video', limit: 10, after: undefined } as const;
  const places = async (order: 'asc' | 'desc') =>
    (await listJobs(test.db, { ...list, order })).map(({ jobId, queuePosition }) => [jobId, queuePosition]);
  // Ahead of the first job: at most one of the other key, one, and two. Ahead of the third: one of its own key, one of
  // the other, one, and three.
  const expected = [
    [ids[0], 4],
    [ids[2], 6],
  ];
  expect(await places('asc')).toEqual(expected);
  expect(await places('desc')).toEqual(expected.toReversed());
});

it('gives one job with its place, and none to a job that has begun', async () => {
  const address = { jobId: ids[1] ?? '', keyId: 'key_3_0' };
  expect(await findJob(test.db, address)).toMatchObject({ queuePosition: 4 });
  await test.db.execute(sql`UPDATE job SET state = 'running' WHERE job_id = ${address.jobId}`);
  expect(await findJob(test.db, address)).toMatchObject({ queuePosition: null });
  await test.db.execute(sql`UPDATE job SET state = 'queued' WHERE job_id = ${address.jobId}`);
  expect(await findJob(test.db, { ...address, keyId: 'key_3_1' })).toBeUndefined();
});

it.each([
  ['ws_new', 3],
  ['ws_1', 5],
  ['ws_40', 6],
])('counts ahead of a new job of %s what has its turn before it: %i', async (workspaceId, ahead) => {
  expect(await countAhead(test.db, { model: MODEL, workspaceId, keyId: 'key' }, [])).toBe(ahead);
});

it('counts what a key has in the queue of a model, up to a bound', async () => {
  const queue = { model: MODEL, workspaceId: 'ws_40', keyId: 'key_40_0' };
  expect([await countQueued(test.db, queue, 500), await countQueued(test.db, queue, 7)]).toEqual([20, 7]);
  expect(await countQueued(test.db, { ...queue, model: 'another' }, 500)).toBe(0);
});
