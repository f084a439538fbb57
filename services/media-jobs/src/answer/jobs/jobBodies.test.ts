import { describe, expect, it } from '@jest/globals';
import { deletedJobSchema, JOB_ERROR_CODES, mediaJobSchema } from '@turnpike/public-api/mediaJob';
import { videoListSchema, videoSchema } from '@turnpike/public-api/video';
import { aShownJob, aShownVideo } from '../../../test/aShownJob.ts';
import type { ShownJob } from '../../terms/job.ts';
import {
  toDeletedBody,
  toMediaJobBody,
  toPollHeaders,
  toUsageBody,
  toVideoBody,
  toVideoListBody,
} from './jobBodies.ts';

const publicUrl = 'https://api.example/';
const ofSpeech: ShownJob['params'] = {
  operation: 'audio.speech',
  model: 'kokoro',
  characters: 5,
  voice: 'af_heart',
  responseFormat: 'mp3',
  speed: 1,
  streamFormat: 'audio',
  isAsync: true,
};

it('shows what was measured in the units of the price', () => {
  expect(toUsageBody({ billingUnit: 'minute', units: 90, chargeNanoUsd: 9_000_000n })).toEqual({
    billing_unit: 'minute',
    units_consumed: 1.5,
    total_spend: 0.009,
  });
});

it('shows a job of images with the addresses of what it made', () => {
  expect(mediaJobSchema.parse(toMediaJobBody(aShownJob(), { publicUrl }))).toEqual({
    id: 'job_1',
    object: 'image.job',
    operation: 'images.generations',
    status: 'completed',
    progress: 100,
    model: 'flux',
    created_at: 1_795_399_200,
    completed_at: 1_795_399_209,
    expires_at: 1_795_485_609,
    queue_position: null,
    error: null,
    usage: { billing_unit: 'image', units_consumed: 2, total_spend: 0.0056 },
    data: [
      { url: 'https://api.example/v1/images/jobs/job_1/content?index=0' },
      { url: 'https://api.example/v1/images/jobs/job_1/content?index=1' },
    ],
  });
});

it('shows a job of audio without addresses, and one under way without an end', () => {
  const waiting = {
    status: 'queued',
    progress: 0,
    queuePosition: 2,
    completedAt: null,
    expiresAt: null,
    usage: null,
  } as const;
  const body = toMediaJobBody(aShownJob({ ...waiting, params: ofSpeech, outputs: [] }), { publicUrl });
  expect(mediaJobSchema.parse(body)).toMatchObject({
    object: 'audio.job',
    queue_position: 2,
    completed_at: null,
    expires_at: null,
    usage: null,
    data: null,
  });
});

it('shows a video as the convention does, its seconds as text', () => {
  expect(videoSchema.parse(toVideoBody(aShownVideo()))).toEqual({
    id: 'video_1',
    object: 'video',
    status: 'queued',
    progress: 0,
    model: 'wan',
    prompt: 'a cat',
    seconds: '5',
    size: '832x480',
    created_at: 1_795_399_200,
    completed_at: null,
    expires_at: null,
    queue_position: 3,
    error: null,
    usage: null,
    remixed_from_video_id: null,
  });
});

it('says why a job failed in words of ours, and that it cost nothing', () => {
  for (const errorCode of JOB_ERROR_CODES) {
    const failed: Partial<ShownJob> = { status: 'failed', errorCode, outputs: [] };
    const usage = { billingUnit: 'second', units: 0, chargeNanoUsd: 0n } as const;
    const body = videoSchema.parse(toVideoBody(aShownVideo({ ...failed, queuePosition: null, usage })));
    expect(body).toMatchObject({ error: { code: errorCode, message: expect.any(String) }, usage: { total_spend: 0 } });
    expect(toMediaJobBody(aShownJob(failed), { publicUrl })).toMatchObject({ data: null });
  }
});

it('pages through videos by the id of the last one', () => {
  const jobs = [aShownVideo({ id: 'video_2' }), aShownVideo({ id: 'video_1' })];
  expect(videoListSchema.parse(toVideoListBody(jobs, { hasMore: true }))).toMatchObject({
    object: 'list',
    data: [{ id: 'video_2' }, { id: 'video_1' }],
    first_id: 'video_2',
    last_id: 'video_1',
    has_more: true,
  });
  expect(toVideoListBody([], { hasMore: false })).toMatchObject({ data: [], first_id: null, last_id: null });
});

it('says that a job was deleted', () => {
  expect(deletedJobSchema.parse(toDeletedBody('video_1', 'video'))).toEqual({
    id: 'video_1',
    object: 'video.deleted',
    deleted: true,
  });
  expect(toDeletedBody('job_1', 'audio.job').object).toBe('audio.job.deleted');
});

it('never shows one kind of job as the other', () => {
  expect(() => toMediaJobBody(aShownVideo(), { publicUrl })).toThrow('a video is shown as one');
  expect(() => toVideoBody(aShownJob())).toThrow('only a video is shown as one');
});

describe('when to look again', () => {
  it.each<[ShownJob['status'], number | null, Record<string, string>]>([
    ['queued', 0, { 'openai-poll-after-ms': '1000', 'retry-after': '1' }],
    ['queued', 4, { 'openai-poll-after-ms': '5000', 'retry-after': '5' }],
    ['queued', 90, { 'openai-poll-after-ms': '10000', 'retry-after': '10' }],
    ['in_progress', null, { 'openai-poll-after-ms': '1000', 'retry-after': '1' }],
    ['completed', null, {}],
    ['failed', null, {}],
  ])('%s, with %s before it: %j', (status, queuePosition, headers) => {
    expect(toPollHeaders({ status, queuePosition })).toEqual(headers);
  });
});
