import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { ConsoleRoute } from '@turnpike/console-api/console/consoleRoute';
import { JOBS_PER_PAGE, jobsConsoleApi } from '@turnpike/console-api/console/jobs';
import { hasRight, ROLES } from '@turnpike/console-api/roles';
import { aFleet } from '@turnpike/internal-auth/aFleet';
import { CONSOLE_CALLER_HEADER, signConsoleCaller } from '@turnpike/internal-auth/consoleToken';
import { createTokenIssuer } from '@turnpike/internal-auth/internalToken';
import { sql } from '@turnpike/postgres/sql';
import type { HttpStandIn } from '@turnpike/test-support/serveHttp';
import { insertJobs as insertJobsOf, jobIdOf } from './insertJobs.ts';
import { openTestJobs, type TestJobs } from './openTestJobs.ts';
import { aFewLookUps, startConsoleRoutes } from './startConsoleRoutes.ts';

const fleet = aFleet();
const key = fleet.keyOf('edge');
const { listJobs, getJob } = jobsConsoleApi.routes;

let test: TestJobs;
let server: HttpStandIn;
const lookUps = aFewLookUps();
beforeAll(async () => {
  test = await openTestJobs();
  server = await startConsoleRoutes(test.db, fleet.publicKeys, lookUps);
});
afterAll(async () => {
  await server.close();
  await test.close();
});

/** Calls a console route as the edge does. */
async function call(
  { method, path }: ConsoleRoute,
  workspaceId: string,
  { job_id: jobId = '', ...query }: Record<string, string> = {},
  role = 'owner',
) {
  const route = `${method} ${path}`;
  const caller = { userId: 'u1', organizationId: 'o1', workspaceId, role };
  const response = await fetch(`${server.url}${path.replace(':job_id', jobId)}?${new URLSearchParams(query)}`, {
    method,
    headers: {
      ...(await createTokenIssuer({ key })('media-jobs', route)),
      [CONSOLE_CALLER_HEADER]: signConsoleCaller(caller, route, { key }),
    },
  });
  // biome-ignore lint/suspicious/noExplicitAny: the tests assert the shapes
  return { status: response.status, body: (await response.json()) as any };
}

let workspaces = 0;

/** Inserts jobs into a new workspace. Returns the workspace. */
async function insertJobs(jobs: number, options: { failedEvery?: number; isHidden?: boolean } = {}): Promise<string> {
  workspaces += 1;
  const workspaceId = `ws_${workspaces}`;
  await insertJobsOf(test.db, { workspaceId, jobs, ...options });
  return workspaceId;
}

/** Reads all pages of a list. */
async function readPages(workspaceId: string, filters: Record<string, string> = {}) {
  const pages: { job_id: string; key_id: string; status: string }[][] = [];
  let after: string | null | undefined;
  do {
    const { status, body } = await call(listJobs, workspaceId, { ...filters, ...(after && { after }) });
    expect(status).toBe(200);
    pages.push(body.jobs);
    after = body.next_after;
  } while (after !== null);
  return { pages, jobs: pages.flat() };
}

it('lists the jobs of the workspace in the token, the newest first, by pages', async () => {
  const workspaceId = await insertJobs(JOBS_PER_PAGE + 2);
  const { pages, jobs } = await readPages(workspaceId);
  expect(pages.map(({ length }) => length)).toEqual([JOBS_PER_PAGE, 2]);
  expect(jobs.map(({ job_id: id }) => id)).toEqual(
    Array.from({ length: JOBS_PER_PAGE + 2 }, (_, nth) => jobIdOf(workspaceId, JOBS_PER_PAGE + 2 - nth)),
  );
  expect(jobs[0]).toEqual({
    job_id: jobIdOf(workspaceId, 52),
    call_id: expect.stringMatching(/^[\da-f-]{36}$/),
    key_id: 'key_0',
    operation: 'images.generations',
    modality: 'image',
    model: 'a-model',
    status: 'queued',
    progress: 0,
    error_code: null,
    created_at: '2026-11-01T00:00:52.000Z',
    begun_at: null,
    ended_at: null,
    expires_at: null,
    billing_unit: 'image',
    units: null,
    charge_nano_usd: null,
  });
  expect((await readPages('ws_none')).jobs).toEqual([]);
});

it('lists the jobs of a status or a key, also where many others are newer', async () => {
  const workspaceId = await insertJobs(2_500, { failedEvery: 1_249 });
  const failed = await readPages(workspaceId, { status: 'failed' });
  expect(failed.jobs).toMatchObject([
    { job_id: jobIdOf(workspaceId, 2_498), status: 'failed', error_code: 'generation_failed', charge_nano_usd: '0' },
    { job_id: jobIdOf(workspaceId, 1_249) },
  ]);
  expect(failed.pages.map(({ length }) => length)).toEqual([1, 1, 0]);
  expect((await readPages(workspaceId, { status: 'failed', key_id: 'key_1' })).jobs).toHaveLength(1);
  expect((await readPages(workspaceId, { key_id: 'key_0' })).jobs).toHaveLength(1_250);
  expect((await readPages(workspaceId, { status: 'cancelled' })).jobs).toEqual([]);
});

it('lists no call that waited for its answer, and begins no page after a job of another workspace', async () => {
  const hidden = await insertJobs(1, { isHidden: true });
  expect((await readPages(hidden)).jobs).toEqual([]);
  expect((await call(getJob, hidden, { job_id: jobIdOf(hidden, 1) })).status).toBe(404);
  const [own, other] = [await insertJobs(1), await insertJobs(2)];
  expect((await call(listJobs, own, { after: jobIdOf(other, 2) })).body).toEqual({ jobs: [], next_after: null });
});

it('shows a job with its call and its prices, and nothing of its content', async () => {
  const workspaceId = await insertJobs(1);
  const jobId = jobIdOf(workspaceId, 1);
  await test.db.execute(sql`
    UPDATE job SET state = 'completed', units = 1, charge_nano_usd = 500, event = '{}', ended_at = now(), remove_at = now(),
      outputs = '[{"key": "jobs/output", "bytes": 7, "sha256": "ab", "type": "image/png", "width": 64, "height": 32}]'
    WHERE job_id = ${jobId}`);
  const { status, body } = await call(getJob, workspaceId, { job_id: jobId });
  expect(status).toBe(200);
  expect(body).toMatchObject({
    job_id: jobId,
    status: 'completed',
    call_id: (await test.read(jobId)).callId,
    unit_price_usd: '0.0000005',
    price_version: 3,
    billing_unit: 'image',
    units: 1,
    charge_nano_usd: '500',
    hold_nano_usd: '1000',
    outputs: [{ type: 'image/png', bytes: 7, width: 64, height: 32, seconds: null }],
    removed_at: null,
  });
  for (const content of ['the prompt', 'jobs/', 'vivid', 'sha256']) expect(JSON.stringify(body)).not.toContain(content);
});

it('answers the same 404 for a job of another workspace and for none', async () => {
  const [own, other] = [await insertJobs(1), await insertJobs(1)];
  const foreign = await call(getJob, own, { job_id: jobIdOf(other, 1) });
  expect([foreign.status, foreign.body.error]).toEqual([404, 'unknown_job']);
  expect(await call(getJob, own, { job_id: 'job_none' })).toEqual(foreign);
});

it.each([
  ['after', { after: 'a b' }],
  ['status', { status: 'running' }],
  ['key_id', { key_id: 'a b' }],
])('refuses a list whose %s is wrong', async (param, query) => {
  const { status, body } = await call(listJobs, 'ws_1', query);
  expect([status, body.error, body.param]).toEqual([400, 'invalid_request', param]);
});

it('takes its turn among the look-ups of the workspace, and refuses one more than may wait', async () => {
  const workspaceId = await insertJobs(1);
  const slot = await lookUps.take({ workspaceId, keyId: 'key_0' }, new AbortController().signal);
  const both = [call(listJobs, workspaceId), call(listJobs, workspaceId)];
  const refused = await Promise.race(both);
  expect([refused.status, refused.body.error]).toEqual([503, 'service_unavailable']);
  expect(refused.body.message).not.toMatch(/key/i);
  slot.giveBack();
  expect((await Promise.all(both)).map(({ status }) => status).sort()).toEqual([200, 503]);
  expect((await call(listJobs, 'ws_none')).status).toBe(200);
});

it.each(Object.entries<ConsoleRoute>(jobsConsoleApi.routes))('%s lets each role in by its rights', async (_, route) => {
  for (const role of [...ROLES, 'root']) {
    const { body } = await call(route, 'ws_1', { job_id: 'job_none' }, role);
    const isAllowed = ROLES.some((known) => known === role && hasRight(known, route.right));
    expect([role, body.error === 'right_missing']).toEqual([role, !isAllowed]);
  }
});
