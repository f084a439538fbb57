import { randomUUID } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { until } from '@turnpike/test-support/until';
import { openBackend, type TestBackend } from '../../../test/support/openBackends.ts';
import type { BackendJob } from '../../terms/backend.ts';
import type { VideoRequest } from '../../terms/mediaRequest.ts';

/** Never fires: the time limit of a test is Jest's, and the file as a whole has none. */
const { signal } = new AbortController();

const aVideo = (fields: Partial<VideoRequest> = {}): VideoRequest => ({
  operation: 'videos',
  model: 'test-model',
  prompt: `a fox ${randomUUID()}`,
  seconds: 2,
  size: { width: 64, height: 48 },
  ...fields,
});

const ENGINES = ['vllm-omni-2026', 'vllm-omni-early', 'sglang', 'trtllm'] as const;

describe.each(ENGINES)('videos of %s', (personality) => {
  let backend: TestBackend;
  beforeAll(async () => {
    backend = await openBackend(personality);
  });
  afterEach(() => backend.simulator.clearFaults());
  afterAll(() => backend.close());

  const create = (fields?: Partial<VideoRequest>): Promise<BackendJob> =>
    backend.dialect.createVideo(backend.replica, aVideo(fields), { fps: 12, steps: 9, signal });
  const get = (id: string): Promise<BackendJob | 'missing'> => backend.dialect.getVideo(backend.replica, id, signal);
  const ended = ({ id }: BackendJob): Promise<BackendJob> =>
    until('the end of the job', async () => {
      const job = await get(id);
      return job !== 'missing' && (job.status === 'completed' || job.status === 'failed') && job;
    });
  async function listed(): Promise<BackendJob[]> {
    const jobs: BackendJob[] = [];
    for await (const job of backend.dialect.listVideos(backend.replica, signal)) jobs.push(job);
    return jobs;
  }
  const read = async (id: string): Promise<Buffer> =>
    buffer(await backend.dialect.videoContent(backend.replica, id, signal));

  it('are made of the length, size and rate that were asked for, and of nothing that was not sent', async () => {
    const job = await create();
    expect(await ended(job)).toMatchObject({ id: job.id, status: 'completed' });
    const { fields } = await backend.simulator.lastRequest('POST /v1/videos');
    const sent = {
      model: 'test-model',
      seconds: '2',
      size: '64x48',
      fps: '12',
      num_inference_steps: '9',
      seed: expect.stringMatching(/^\d+$/),
      prompt: expect.any(String),
    };
    expect(fields).toEqual(personality === 'trtllm' ? { ...sent, output_format: 'mp4' } : sent);
    const { renders } = await backend.simulator.log();
    expect(renders.at(-1)?.units).toMatchObject({ frames: 25, fps: 12, width: 64, height: 48 });
    const clip = await read(job.id);
    expect(clip.subarray(4, 8).toString()).toBe('ftyp');
    const served = await backend.simulator.lastRequest('GET /v1/videos/{id}/content');
    expect(clip.length).toBe(served.bytesServed);
  });

  it('of one prompt are not all the same', async () => {
    const prompt = `a fox ${randomUUID()}`;
    const made = [await ended(await create({ prompt })), await ended(await create({ prompt }))];
    const [first, second] = await Promise.all(made.map(({ id }) => read(id)));
    expect(first?.equals(second ?? Buffer.alloc(0))).toBe(false);
  });

  it('begin with an image, sent under a name of ours', async () => {
    const inputReference = { bytes: Buffer.from('not looked at'), type: 'image/png' };
    await create({ inputReference });
    const { fields } = await backend.simulator.lastRequest('POST /v1/videos');
    expect(fields.input_reference).toBe('reference.png (image/png, 13 bytes)');
  });

  it('that fail are failed jobs, whatever the status of the answer', async () => {
    for (const failedJobStatus of ['ok', 'error'] as const) {
      await backend.simulator.configure({ failedJobStatus });
      await backend.simulator.addFaults({ fault: 'render_fails_with_prompt', times: 1 });
      expect(await ended(await create())).toMatchObject({ status: 'failed', failure: 'generation_failed' });
      await backend.simulator.addFaults({ fault: 'render_refuses_prompt', times: 1 });
      expect(await ended(await create())).toMatchObject({ status: 'failed', failure: 'content_refused' });
    }
  });

  it('are listed', async () => {
    const made = [await create(), await create()];
    const ids = (await listed()).map(({ id }) => id);
    expect(ids).toEqual(expect.arrayContaining(made.map(({ id }) => id)));
  });

  it('are listed by the thousand', async () => {
    await backend.simulator.addFaults({ fault: 'list_of_10000' });
    expect((await listed()).length).toBe(10_000);
  });

  it('are gone when they were deleted, also twice, also if they never were', async () => {
    const job = await create();
    await ended(job);
    await backend.dialect.deleteVideo(backend.replica, job.id, signal);
    await backend.dialect.deleteVideo(backend.replica, job.id, signal);
    await backend.dialect.deleteVideo(backend.replica, 'never_was', signal);
    expect(await get(job.id)).toBe('missing');
    await expect(read(job.id)).rejects.toMatchObject({ kind: 'failed' });
    expect(backend.alerts).toEqual([]);
  });

  it('whose deletion is not over yet are to be deleted again', async () => {
    await backend.simulator.addFaults({ match: { route: 'DELETE /v1/videos/{id}' }, fault: 'refuse_409', times: 1 });
    const job = await create();
    await expect(backend.dialect.deleteVideo(backend.replica, job.id, signal)).rejects.toMatchObject({ kind: 'busy' });
    await backend.dialect.deleteVideo(backend.replica, job.id, signal);
  });

  it.each(['answer_lost', 'html_with_200', 'invalid_json', 'body_empty', 'body_reset'] as const)(
    'begun under %s may have been begun, and are in the list',
    async (fault) => {
      const before = (await listed()).length;
      await backend.simulator.addFaults({ match: { route: 'POST /v1/videos' }, fault, times: 1 });
      await expect(create()).rejects.toMatchObject({ kind: 'answer_lost' });
      expect((await listed()).length).toBe(before + 1);
    },
  );

  it.each([
    ['refuse_503_retry_after', { kind: 'busy', retryAfterMs: expect.any(Number) }],
    ['refuse_503', { kind: 'busy' }],
    ['refuse_429', { kind: 'busy' }],
    ['refuse_500', { kind: 'failed' }],
    ['reset_before_answer', { kind: 'answer_lost' }],
  ] as const)('refused by %s say so', async (fault, expected) => {
    await backend.simulator.addFaults({ match: { route: 'POST /v1/videos' }, fault, times: 1 });
    await expect(create()).rejects.toMatchObject(expected);
  });

  it.each([
    ['refuse_500', 'unreachable'],
    ['refuse_503', 'busy'],
    ['refuse_429', 'busy'],
    ['reset_before_answer', 'unreachable'],
    ['answer_lost', 'unreachable'],
    ['html_with_200', 'unreachable'],
    ['invalid_json', 'unreachable'],
    ['body_empty', 'unreachable'],
    ['body_reset', 'unreachable'],
  ] as const)('looked at under %s: no news', async (fault, kind) => {
    const job = await create();
    await backend.simulator.addFaults({ match: { route: 'GET /v1/videos/{id}' }, fault, times: 1 });
    await expect(get(job.id)).rejects.toMatchObject({ kind });
    expect(await get(job.id)).toMatchObject({ id: job.id });
  });

  it('looked at under a 404 are missing, and may be back', async () => {
    const job = await create();
    await backend.simulator.addFaults({ match: { route: 'GET /v1/videos/{id}' }, fault: 'refuse_404', times: 1 });
    expect(await get(job.id)).toBe('missing');
    expect(await get(job.id)).toMatchObject({ id: job.id });
    expect(backend.alerts).toEqual([]);
  });

  it.each([
    ['status_unknown', { status: 'in_progress' }],
    ['progress_101', { progress: 100 }],
    ['progress_null', { progress: null }],
    ['progress_text', { progress: null }],
  ] as const)('under %s are what is left of it', async (fault, expected) => {
    const job = await create();
    await ended(job);
    await backend.simulator.addFaults({ match: { route: 'GET /v1/videos/{id}' }, fault, times: 1 });
    expect(await get(job.id)).toMatchObject(expected);
  });

  it.each([
    ['completed_without_file', 'POST /v1/videos', 'failed'],
    ['file_vanished', 'GET /v1/videos/{id}/content', 'failed'],
    ['refuse_500', 'GET /v1/videos/{id}/content', 'unreachable'],
    ['refuse_503', 'GET /v1/videos/{id}/content', 'busy'],
    ['reset_before_answer', 'GET /v1/videos/{id}/content', 'unreachable'],
    ['wrong_length', 'GET /v1/videos/{id}/content', 'answer_lost'],
    ['body_reset', 'GET /v1/videos/{id}/content', 'answer_lost'],
  ] as const)('whose content meets %s fail', async (fault, route, kind) => {
    await backend.simulator.addFaults({ match: { route }, fault, times: 1 });
    const job = await create();
    await ended(job);
    await expect(read(job.id)).rejects.toMatchObject({ kind });
    expect(backend.alerts).toEqual([]);
  });

  it('whose content has the type of a page are read all the same', async () => {
    const route = 'GET /v1/videos/{id}/content';
    const job = await create();
    await ended(job);
    const clip = await read(job.id);
    await backend.simulator.addFaults({ match: { route }, fault: 'wrong_type', times: 1 });
    expect(await read(job.id)).toEqual(clip);
  });

  it('whose content never ends are cut off with their reader', async () => {
    await backend.simulator.addFaults({
      fault: 'body_endless',
      match: { route: 'GET /v1/videos/{id}/content' },
      times: 1,
    });
    const job = await create();
    await ended(job);
    const content = await backend.dialect.videoContent(backend.replica, job.id, signal);
    for await (const _chunk of content) break;
    const request = await backend.simulator.lastRequest('GET /v1/videos/{id}/content');
    expect(request.state).toBe('aborted');
  });
});
