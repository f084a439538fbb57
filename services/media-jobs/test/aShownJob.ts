import type { ShownJob, StoredOutput } from '../src/terms/job.ts';

/** A PNG of 10 bytes, as it lies in the store. */
export const aStoredOutput = (fields: Partial<StoredOutput> = {}): StoredOutput => ({
  key: 'images/job_1/1/0.png',
  bytes: 10,
  sha256: 'ab'.repeat(32),
  type: 'image/png',
  ...fields,
});

/** A job of two images that is completed. */
export const aShownJob = (fields: Partial<ShownJob> = {}): ShownJob => ({
  id: 'job_1',
  status: 'completed',
  progress: 100,
  queuePosition: null,
  params: {
    operation: 'images.generations',
    model: 'flux',
    n: 2,
    size: { width: 512, height: 256 },
    outputFormat: 'png',
    responseFormat: 'b64_json',
    isAsync: true,
    isStream: false,
  },
  prompt: null,
  createdAt: new Date('2026-11-23T02:00:00.900Z'),
  completedAt: new Date('2026-11-23T02:00:09.100Z'),
  expiresAt: new Date('2026-11-24T02:00:09.100Z'),
  errorCode: null,
  outputs: [aStoredOutput(), aStoredOutput()],
  usage: { billingUnit: 'image', units: 2, chargeNanoUsd: 5_600_000n },
  ...fields,
});

/** A job of a clip that waits. */
export const aShownVideo = (fields: Partial<ShownJob> = {}): ShownJob =>
  aShownJob({
    id: 'video_1',
    status: 'queued',
    progress: 0,
    queuePosition: 3,
    params: { operation: 'videos', model: 'wan', seconds: 5, size: { width: 832, height: 480 } },
    prompt: 'a cat',
    completedAt: null,
    expiresAt: null,
    outputs: [],
    usage: null,
    ...fields,
  });
