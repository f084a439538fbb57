import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { aMediaUsageRecorded } from '@turnpike/events/aUsageRecorded';
import { toUsageRecordedJson } from '@turnpike/events/usageRecorded';
import { sql } from '@turnpike/postgres/sql';
import { noMediaMetrics } from '@turnpike/telemetry/noTelemetry';
import { v7 as uuidv7 } from 'uuid';
import { findAnyJob } from '../src/jobs/table/findJobs.ts';
import { endJob } from '../src/jobs/work/endJob.ts';
import { HeldJob } from '../src/jobs/work/heldJob.ts';
import { aReplica, someBackends } from './aBackend.ts';
import { aCall, eventually, openTestJobs, type TestJobs } from './openTestJobs.ts';

const LEASE_MS = 60_000;

let test: TestJobs;
beforeAll(async () => {
  test = await openTestJobs();
});
afterAll(() => test.close());

/** Makes a job that no process works on. */
async function aHeldJob(call = aCall()): Promise<HeldJob> {
  const jobs = await test.open({ backends: { ...someBackends(aReplica()), list: () => [] } });
  const { id } = await jobs.make(call);
  // The creator lets the job begin behind its answer, which sets the instant as well.
  const row = await eventually(
    () => test.read(id),
    ({ dueAt, now }) => dueAt !== null && dueAt <= now,
  );
  return new HeldJob({ db: test.db, metrics: noMediaMetrics }, { ...row, state: 'running' });
}
const dueAtOf = async ({ row }: HeldJob) => (await test.read(row.jobId)).dueAt;

it('has its lease go on through steps that do not say when the job is to be looked at next', async () => {
  const held = await aHeldJob();
  const { dueAt: before } = held.row;
  const [{ dueAt }] = await Promise.all([held.step('advance', { progress: 50 }), held.renew(LEASE_MS)]);
  expect(dueAt).toEqual(before);
  expect((await dueAtOf(held))?.getTime()).toBeGreaterThan(before?.getTime() ?? Number.POSITIVE_INFINITY);
});

it('puts off by no renewal when the job is to be looked at next, once a step has said so', async () => {
  const held = await aHeldJob();
  await held.renew(LEASE_MS);
  const [{ dueAt }] = await Promise.all([held.step('askAgain', { dueInMs: 0 }), held.renew(LEASE_MS)]);
  await held.renew(LEASE_MS);
  expect(await dueAtOf(held)).toEqual(dueAt);
  expect(held.signal.aborted).toBe(false);
});

it('is lost where its lease can not go on, as somebody else has it', async () => {
  const held = await aHeldJob();
  await test.db.execute(sql`UPDATE job SET version = version + 1 WHERE job_id = ${held.row.jobId}`);
  await held.renew(LEASE_MS);
  expect(held.signal.aborted).toBe(true);
});

it('is found by the request that made it, which its event names', async () => {
  const requestId = uuidv7();
  const call = aCall();
  const { callId } = call.hold;
  const unknownEventJson = toUsageRecordedJson(aMediaUsageRecorded({ callId, requestId, status: 'unknown', units: 0 }));
  const held = await aHeldJob({ ...call, hold: { ...call.hold, unknownEventJson } });
  expect(await findAnyJob(test.db, requestId)).toMatchObject({ callId });
  expect(await findAnyJob(test.db, uuidv7())).toBeUndefined();
  await endJob(held, { name: 'fail', code: 'backend_lost' }, { region: 'us' });
  expect((await test.read(held.row.jobId)).event).toMatchObject({ callId, requestId });
});
