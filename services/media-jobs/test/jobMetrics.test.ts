import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { aSilentLogger } from '@turnpike/logging/createLogger';
import { createMediaMetrics } from '@turnpike/telemetry/mediaMetrics';
import { noMediaMetrics } from '@turnpike/telemetry/noTelemetry';
import { type RunningTelemetry, startTelemetry } from '@turnpike/telemetry/startTelemetry';
import { readMetrics } from '@turnpike/test-support/readMetrics';
import type { JobDependencies } from '../src/jobs/dependencies.ts';
import { observeJobs } from '../src/jobs/observeJobs.ts';
import { aFault, aReplica, someBackends } from './aBackend.ts';
import { aCall, anImageRequest, aVideoRequest, eventually, openTestJobs, type TestJobs } from './openTestJobs.ts';

const log = aSilentLogger();

let test: TestJobs;
let telemetry: RunningTelemetry;
beforeAll(async () => {
  test = await openTestJobs();
  const settings = { scope: 'us', otlpEndpoint: undefined, traceSampleRatio: 0 } as const;
  telemetry = startTelemetry({ service: 'media-jobs', ...settings, log });
});
afterAll(async () => {
  await telemetry.shutdown();
  await test.close();
});

it('counts each job once, each attempt by its backend, and shows what waits and what is overdue', async () => {
  const metrics = createMediaMetrics(telemetry.meter);
  const backends = someBackends(aReplica());
  const replica = backends.of('replica-1');
  const jobs = await test.open({ backends, metrics, observer: { roundMs: 100 } });
  const sample = async (name: string) => (await readMetrics(telemetry)).get(name) ?? 0;
  const untilSample = (name: string, value: number) =>
    eventually(
      () => sample(name),
      (found) => found === value,
    );

  const render = replica.onImage;
  const faults = [aFault('busy', { retryAfterMs: 10 }), aFault('failed')];
  replica.onImage = async (...given) => {
    const fault = faults.shift();
    if (fault) throw fault;
    return render(...given);
  };
  await jobs.make(aCall({ request: anImageRequest() }));
  const images = 'model="a-model",operation="images.generations"';
  await untilSample(`turnpike_jobs_ended_total{${images},ending="completed"}`, 1);
  for (const result of ['busy', 'failed', 'made'])
    expect(await sample(`turnpike_backend_attempts_total{backend="replica-1",result="${result}"}`)).toBe(1);
  expect(await sample(`turnpike_job_duration_seconds_count{${images}}`)).toBe(1);
  expect(await sample('turnpike_object_stored_bytes_total{of="output"}')).toBe(Buffer.byteLength('an image'));

  const call = aCall({ request: aVideoRequest() });
  const clip = await jobs.make(call);
  const waiting = await jobs.make(aCall({ request: aVideoRequest() }));
  await eventually(
    () => test.read(clip.id),
    ({ state }) => state === 'running',
  );
  await untilSample('turnpike_jobs{model="a-model",state="queued"}', 1);
  await untilSample('turnpike_backend_slots_used{backend="replica-1"}', 1);
  test.books.isTaking = false;
  await jobs.remove({ jobId: clip.id, keyId: call.hold.keyId });
  expect(await sample('turnpike_backend_attempts_total{backend="replica-1",result="cancelled"}')).toBe(1);
  await untilSample('turnpike_jobs{model="a-model",state="unsettled"}', 1);
  await test.age(clip.id, 600_000);
  await untilSample('turnpike_jobs_overdue{lacks="settlement"}', 1);
  test.books.isTaking = true;
  await untilSample('turnpike_jobs_ended_total{model="a-model",operation="videos",ending="cancelled"}', 1);
  await untilSample('turnpike_jobs_overdue{lacks="settlement"}', 0);
  await eventually(
    () => test.read(waiting.id),
    ({ state }) => state === 'running',
  );
});

it('says NaN while the database does not answer', async () => {
  const broken = { query: () => Promise.reject(new Error('away')) } as unknown as TestJobs['db'];
  const reads: (() => unknown)[] = [];
  const metrics: JobDependencies['metrics'] = { ...noMediaMetrics, observeJobs: (read) => void reads.push(read) };
  const observing = observeJobs({ db: broken, metrics, log });
  await observing.now().catch(() => {});
  expect(reads.map((read) => read())).toEqual([undefined]);
  await observing.close();
});
