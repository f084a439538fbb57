import { afterEach, describe, expect, it } from '@jest/globals';
import { until } from '@turnpike/test-support/until';
import type { PersonalityName } from '../src/personalities.ts';
import { probeClip, toBuffer } from './support/readMedia.ts';
import { MODEL, startTestReplica, type TestReplica } from './support/testReplica.ts';
import { completed, createJob, getJob } from './support/videoJobs.ts';

let replica: TestReplica;
afterEach(() => replica.close());

const small = { prompt: 'a fox', size: '64x48', fps: '8' };

describe('a video job', () => {
  it.each([
    ['vllm-omni-2026', '4', 33],
    ['vllm-omni-early', '1', 9],
    ['sglang', '2', 17],
    ['trtllm', '2.5', 21],
  ] as [PersonalityName, string, number][])(
    'of %s is made, shown and handed out',
    async (personality, seconds, frames) => {
      replica = await startTestReplica(personality);
      const job = await createJob(replica, { ...small, seconds });
      await completed(replica, job.id);
      const content = await replica.get(`/v1/videos/${job.id}/content`);
      expect(content.headers.get('content-type')).toBe('video/mp4');
      expect(content.headers.get('content-disposition')).toBe(`attachment; filename="${job.id}.mp4"`);
      const clip = await probeClip(await toBuffer(content));
      expect(clip).toMatchObject({ frames, width: 64, height: 48, fps: '8/1', format: expect.stringMatching(/mp4/) });
      const { totals, renders } = await replica.log();
      expect(totals).toMatchObject({ rendersOrdered: 1, rendersStarted: 1, rendersFinished: 1 });
      expect(renders[0]).toMatchObject({ jobId: job.id, prompt: 'a fox', units: { frames }, state: 'finished' });
    },
  );

  it('waits for the one slot, in order, and says so', async () => {
    replica = await startTestReplica('vllm-omni-2026', { clock: 'virtual', renderBaseMs: 1_000, progress: 'steps' });
    const ids: string[] = [];
    for (const prompt of ['first', 'second', 'third']) {
      ids.push((await createJob(replica, { ...small, prompt, num_inference_steps: '4' })).id);
    }
    await replica.admin('advance', { ms: 600 });
    const { running, waiting } = await replica.state();
    expect(running.map(({ prompt }) => prompt)).toEqual(['first']);
    expect(waiting.map(({ prompt }) => prompt)).toEqual(['second', 'third']);
    expect((await getJob(replica, ids[0])).body).toMatchObject({ status: 'in_progress', progress: 50 });
    expect((await getJob(replica, ids[1])).body).toMatchObject({ status: 'queued', progress: 0 });
    await replica.admin('advance', { ms: 400 });
    await completed(replica, ids[0]);
    await until('the second to start', async () => (await replica.state()).running[0]?.prompt === 'second');
  });

  it('takes as long as its frames and steps say', async () => {
    replica = await startTestReplica('vllm-omni-2026', { clock: 'virtual', msPerFrame: 10, msPerStep: 100 });
    const { id } = await createJob(replica, { ...small, seconds: '1', num_inference_steps: '5' }); // 9 frames
    await replica.admin('advance', { ms: 589 });
    expect((await getJob(replica, id)).body).toMatchObject({ status: 'in_progress' });
    await replica.admin('advance', { ms: 1 });
    expect(await completed(replica, id)).toMatchObject({ inference_time_s: 0.59 });
  });

  it.each([
    ['vllm-omni-2026', ['queued', 'in_progress']],
    ['vllm-omni-early', ['in_progress', 'in_progress']],
    ['sglang', ['queued', 'queued']],
    ['trtllm', ['queued', 'queued']],
  ] as [PersonalityName, [string, string]][])('of %s is %j while it waits and runs', async (personality, statuses) => {
    replica = await startTestReplica(personality, { renderBaseMs: 60_000 });
    await replica.admin('pause');
    const { id } = await createJob(replica, small);
    const waiting = await getJob(replica, id);
    await replica.admin('resume');
    const running = await getJob(replica, id);
    expect([waiting.body.status, running.body.status]).toEqual(statuses);
  });
});

describe('the list', () => {
  it('of vLLM-Omni goes by pages, newest first', async () => {
    replica = await startTestReplica('vllm-omni-2026');
    const ids: string[] = [];
    for (let count = 0; count < 5; count += 1) ids.push((await createJob(replica, small)).id);
    const page = async (query: string) => {
      const body = (await (await replica.get(`/v1/videos?${query}`)).json()) as {
        data: { id: string }[];
        has_more: boolean;
        last_id: string | null;
      };
      return { ids: body.data.map(({ id }) => id), hasMore: body.has_more, last: body.last_id };
    };
    const newestFirst = ids.toReversed();
    expect(await page('limit=2')).toEqual({ ids: newestFirst.slice(0, 2), hasMore: true, last: newestFirst[1] });
    expect(await page(`limit=9&after=${newestFirst[1]}`)).toMatchObject({ ids: newestFirst.slice(2), hasMore: false });
    expect(await page('order=asc')).toMatchObject({ ids, hasMore: false });
    expect(await page('after=unknown')).toEqual({ ids: [], hasMore: false, last: null });
    expect((await replica.get('/v1/videos?limit=101')).status).toBe(422);
  });
});

describe('DELETE', () => {
  it('of vLLM-Omni stops the render', async () => {
    replica = await startTestReplica('vllm-omni-2026', { renderBaseMs: 60_000 });
    const { id } = await createJob(replica, small);
    const answer = await replica.delete(`/v1/videos/${id}`);
    expect(await answer.json()).toEqual({ id, deleted: true, object: 'video.deleted' });
    expect((await getJob(replica, id)).status).toBe(404);
    expect((await replica.log()).totals).toMatchObject({ rendersAborted: 1, rendersFinished: 0 });
    expect(await replica.state()).toMatchObject({ running: [], jobs: [], files: [] });
  });

  it.each(['vllm-omni-early', 'sglang'] as const)(
    'of %s takes the record and leaves the render',
    async (personality) => {
      replica = await startTestReplica(personality, { clock: 'virtual', renderBaseMs: 1_000 });
      const { id } = await createJob(replica, small);
      expect((await replica.delete(`/v1/videos/${id}`)).status).toBe(200);
      expect((await getJob(replica, id)).status).toBe(404);
      await replica.admin('advance', { ms: 60_000 });
      await until('the render to finish', async () => (await replica.log()).totals.rendersFinished === 1);
      expect((await replica.state()).files).toHaveLength(1);
    },
  );

  it('of SGLang leaves the file of a finished job as well', async () => {
    replica = await startTestReplica('sglang');
    const { id } = await createJob(replica, small);
    await completed(replica, id);
    expect(await (await replica.delete(`/v1/videos/${id}`)).json()).toMatchObject({ id, status: 'deleted' });
    expect(await replica.state()).toMatchObject({ jobs: [], files: [{ name: `${id}.mp4` }] });
  });
});

describe('a replica', () => {
  it('shuts its door and opens it again', async () => {
    replica = await startTestReplica('sglang');
    await replica.admin('port', { port: 'closed' });
    await expect(replica.get('/health')).rejects.toThrow();
    await replica.admin('port', { port: 'open' });
    expect((await replica.get('/health')).status).toBe(200);
    expect(await (await replica.get('/v1/models')).json()).toMatchObject({ data: [{ id: MODEL }] });
  });

  it('notes what it was sent, and what it served to the byte', async () => {
    replica = await startTestReplica('vllm-omni-2026');
    const file = new Blob(['not really'], { type: 'image/png' });
    const { id } = await createJob(replica, { ...small, lora: '{"path": "/"}', input_reference: file });
    await completed(replica, id);
    const content = await toBuffer(await replica.get(`/v1/videos/${id}/content`));
    const { requests } = await replica.log();
    expect(requests[0]).toMatchObject({
      route: 'POST /v1/videos',
      state: 'answered',
      fields: { prompt: 'a fox', lora: '{"path": "/"}', input_reference: 'blob (image/png, 10 bytes)' },
    });
    expect(await replica.lastRequest('GET /v1/videos/{id}/content')).toMatchObject({ bytesServed: content.length });
  });
});
