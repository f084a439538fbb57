import { expect, it } from '@jest/globals';
import { createLogger } from '@turnpike/logging/createLogger';
import { readMetrics } from '@turnpike/test-support/readMetrics';
import { createMediaMetrics, type JobsNow } from './mediaMetrics.ts';
import { startTelemetry } from './startTelemetry.ts';

const log = createLogger({ service: 'test', level: 'silent' });
const start = () =>
  startTelemetry({ service: 'media-jobs', scope: 'us', otlpEndpoint: undefined, traceSampleRatio: 0, log });

it('counts jobs that have ended, attempts, and bytes that were stored and removed', async () => {
  const telemetry = start();
  const metrics = createMediaMetrics(telemetry.meter);
  const job = {
    ...{ model: 'small-clip', operation: 'videos', errorCode: null, createdAt: new Date(1_000) },
    ...{ begunAt: new Date(3_000), endedAt: new Date(11_000) },
  };
  metrics.jobEnded({ ...job, state: 'completed' });
  metrics.jobEnded({ ...job, state: 'failed', errorCode: 'queue_timeout', begunAt: null });
  metrics.jobEnded({ ...job, state: 'cancelled' });
  metrics.attemptEnded({ id: 'replica-1' }, 'made');
  metrics.attemptEnded({ id: 'replica-1' }, 'busy');
  metrics.bytesStored('output', 100);
  metrics.bytesRemoved('input', 20);
  metrics.orphanRemoved({ id: 'replica-1' });
  metrics.strayRemoved();
  metrics.storeFailed();

  const samples = await readMetrics(telemetry);
  const of = 'model="small-clip",operation="videos"';
  for (const ending of ['completed', 'queue_timeout', 'cancelled'])
    expect(samples.get(`turnpike_jobs_ended_total{${of},ending="${ending}"}`)).toBe(1);
  expect(samples.get(`turnpike_job_wait_seconds_sum{${of}}`)).toBe(4);
  expect(samples.get(`turnpike_job_wait_seconds_count{${of}}`)).toBe(2);
  expect(samples.get(`turnpike_job_duration_seconds_sum{${of}}`)).toBe(10);
  expect(samples.get(`turnpike_job_duration_seconds_count{${of}}`)).toBe(1);
  expect(samples.get('turnpike_backend_attempts_total{backend="replica-1",result="made"}')).toBe(1);
  expect(samples.get('turnpike_backend_attempts_total{backend="replica-1",result="busy"}')).toBe(1);
  expect(samples.get('turnpike_object_stored_bytes_total{of="output"}')).toBe(100);
  expect(samples.get('turnpike_object_removed_bytes_total{of="input"}')).toBe(20);
  expect(samples.get('turnpike_orphans_removed_total{backend="replica-1"}')).toBe(1);
  expect(samples.get('turnpike_strays_removed_total')).toBe(1);
  expect(samples.get('turnpike_object_store_failures_total')).toBe(1);
  await telemetry.shutdown();
});

it('shows how jobs stand, 0 of what there is no more, and NaN while nobody knows', async () => {
  const telemetry = start();
  const metrics = createMediaMetrics(telemetry.meter);
  let now: JobsNow | undefined = {
    jobs: [{ model: 'small-clip', state: 'queued', jobs: 3, oldestSeconds: 12.5 }],
    slots: [{ backend: 'replica-1', used: 1 }],
    overdue: [{ lacks: 'removal', jobs: 2 }],
  };
  metrics.observeJobs(() => now);
  const names = [
    'turnpike_jobs{model="small-clip",state="queued"}',
    'turnpike_job_oldest_seconds{model="small-clip",state="queued"}',
    'turnpike_backend_slots_used{backend="replica-1"}',
    'turnpike_jobs_overdue{lacks="removal"}',
  ];
  const read = async () => {
    const samples = await readMetrics(telemetry);
    return names.map((name) => samples.get(name));
  };
  expect(await read()).toEqual([3, 12.5, 1, 2]);
  now = { jobs: [], slots: [], overdue: [] };
  expect(await read()).toEqual([0, 0, 0, 0]);
  now = undefined;
  expect(await read()).toEqual([Number.NaN, Number.NaN, Number.NaN, Number.NaN]);
  await telemetry.shutdown();
});

it('shows backends, the decoder and uploads of this process', async () => {
  const telemetry = start();
  const metrics = createMediaMetrics(telemetry.meter);
  const replica = { id: 'replica-1', model: 'small-clip', slots: 2, draining: false };
  metrics.observeBackends(() => [
    { replica, state: 'ready', isHung: false },
    { replica: { ...replica, id: 'replica-2' }, state: 'out', isHung: true },
    { replica: { ...replica, id: 'replica-3', draining: true }, state: 'ready', isHung: false },
    { replica: { ...replica, id: 'replica-4' }, state: 'ready', isHung: true },
  ]);
  metrics.observeCalls(() => [['replica-1', 1]]);
  metrics.observeDecoder(() => ({ slots: 1, running: 1, waiting: 2, converting: 3, refusals: 4 }));
  metrics.observeUploads(() => ({ files: 5, bytes: 600 }), 1_000);

  const samples = await readMetrics(telemetry);
  const states = [1, 2, 3, 4].map((n) =>
    samples.get(`turnpike_backend_state{backend="replica-${n}",model="small-clip"}`),
  );
  expect(states).toEqual([0, 2, 0, 3]);
  const slots = [1, 2, 3].map((n) => samples.get(`turnpike_backend_slots{backend="replica-${n}",model="small-clip"}`));
  expect(slots).toEqual([2, 0, 0]);
  expect(samples.get('turnpike_backend_calls{backend="replica-1"}')).toBe(1);
  expect(samples.get('turnpike_decoder_slots')).toBe(1);
  expect(samples.get('turnpike_decodings{state="waiting"}')).toBe(2);
  expect(samples.get('turnpike_decodings{state="converting"}')).toBe(3);
  expect(samples.get('turnpike_decoder_refusals_total')).toBe(4);
  expect(samples.get('turnpike_uploads')).toBe(5);
  expect(samples.get('turnpike_upload_bytes')).toBe(600);
  expect(samples.get('turnpike_upload_limit_bytes')).toBe(1_000);
  await telemetry.shutdown();
});
