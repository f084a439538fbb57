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

  it('may be an AVI', async () => {
    replica = await startTestReplica('trtllm', { clipContainer: 'avi', frameRule: 'exact' });
    const job = await createJob(replica, { ...small, seconds: '1' });
    await completed(replica, job.id);
    const content = await replica.get(`/v1/videos/${job.id}/content`);
    expect(content.headers.get('content-type')).toBe('video/x-msvideo');
    expect(await probeClip(await toBuffer(content))).toMatchObject({ frames: 8, format: 'avi' });
  });

  it('of vLLM-Omni has one frame where the request names no length', async () => {
    replica = await startTestReplica('vllm-omni-2026');
    const job = await createJob(replica, small);
    expect(job).toMatchObject({ seconds: '4' });
    await completed(replica, job.id);
    expect((await replica.log()).renders[0]?.units).toMatchObject({ frames: 1 });
  });

  it('has bytes of its own, whatever was asked', async () => {
    replica = await startTestReplica('vllm-omni-2026');
    for (const prompt of ['a', 'a', 'b']) {
      const { id } = await createJob(replica, { ...small, prompt, seconds: '1' });
      await completed(replica, id);
    }
    const made = (await replica.log()).renders.map(({ outputs }) => outputs[0]?.sha256);
    expect(new Set(made).size).toBe(3);
  });

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

  it.each([
    ['vllm-omni-2026', 500, { code: 500, message: expect.stringMatching(/CUDA/) }],
    ['vllm-omni-early', 200, { code: 'EngineGenerateError', message: expect.stringMatching(/CUDA/) }],
    ['sglang', 200, { message: expect.stringMatching(/CUDA/) }],
    ['trtllm', 200, expect.stringMatching(/CUDA/)],
  ] as [PersonalityName, number, object][])(
    'of %s that failed is a %i with the job as body',
    async (personality, status, error) => {
      replica = await startTestReplica(personality);
      await replica.addFaults({ fault: 'render_fails' });
      const { id } = await createJob(replica, small);
      const seen = await until('its failure', async () => {
        const job = await getJob(replica, id);
        return job.body.status === 'failed' && job;
      });
      expect(seen).toMatchObject({ status, body: { id, error } });
      expect((await replica.log()).totals).toMatchObject({ rendersFailed: 1, rendersFinished: 0 });
    },
  );
});

describe('content', () => {
  it.each([
    ['vllm-omni-2026', 404, 422, 404],
    ['sglang', 404, 404, 404],
    ['trtllm', 400, 400, 404],
  ] as [PersonalityName, number, number, number][])(
    'of %s that is not there',
    async (personality, unfinished, failed, gone) => {
      replica = await startTestReplica(personality, { renderBaseMs: 0 });
      await replica.admin('pause');
      await replica.addFaults({ fault: 'render_fails', times: 1 }, { fault: 'file_vanished', times: 1 });
      const first = await createJob(replica, small);
      const second = await createJob(replica, small);
      const content = async (id: string) => (await replica.get(`/v1/videos/${id}/content`)).status;
      expect(await content(second.id)).toBe(unfinished);
      await replica.admin('resume');
      await completed(replica, second.id);
      expect(await content(first.id)).toBe(failed);
      expect(await content(second.id)).toBe(200); // the fault struck the look that came too early
      await replica.addFaults({ fault: 'file_vanished', times: 1 });
      expect([await content(second.id), await content(second.id)]).toEqual([gone, gone]);
      expect(await content('unknown')).toBe(404);
    },
  );
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

  it('is 409 while a render takes more than 2 s to stop', async () => {
    replica = await startTestReplica('vllm-omni-2026', { clock: 'virtual', renderBaseMs: 60_000, abortMs: 5_000 });
    const { id } = await createJob(replica, small);
    const answer = replica.delete(`/v1/videos/${id}`);
    await until('the order to arrive', async () => (await replica.log()).requests.at(-1)?.method === 'DELETE');
    await new Promise((resolve) => setTimeout(resolve, 50));
    await replica.admin('advance', { ms: 2_000 });
    expect((await answer).status).toBe(409);
    expect((await getJob(replica, id)).status).toBe(200);
    await replica.admin('advance', { ms: 3_000 });
    expect((await getJob(replica, id)).status).toBe(404);
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
  it('that restarts forgets jobs and keeps files, unless its records lie on the disk', async () => {
    replica = await startTestReplica('vllm-omni-2026');
    const { id } = await createJob(replica, small);
    await completed(replica, id);
    await replica.admin('restart');
    expect((await getJob(replica, id)).status).toBe(404);
    expect((await replica.state()).files).toHaveLength(1);

    await replica.configure({ recordStore: 'disk' });
    const kept = await createJob(replica, small);
    await completed(replica, kept.id);
    await replica.admin('restart', { files: 'lose' });
    expect((await getJob(replica, kept.id)).body).toMatchObject({ status: 'completed' });
    expect((await replica.get(`/v1/videos/${kept.id}/content`)).status).toBe(404);
  });

  it('that restarts loses the render, and a job on the disk stays unfinished for ever', async () => {
    replica = await startTestReplica('vllm-omni-2026', { recordStore: 'disk', renderBaseMs: 60_000 });
    const { id } = await createJob(replica, small);
    await replica.startAgain();
    expect((await getJob(replica, id)).body).toMatchObject({ status: 'in_progress' });
    expect((await replica.delete(`/v1/videos/${id}`)).status).toBe(409);
    const { totals, renders } = await replica.log();
    expect(totals).toMatchObject({ rendersOrdered: 1, rendersLost: 1 });
    expect(renders[0]).toMatchObject({ jobId: id, state: 'lost' });
  });

  it('may give the same ids again after a restart, as another replica does', async () => {
    replica = await startTestReplica('vllm-omni-2026', { idSeed: 'the same' });
    const { id } = await createJob(replica, small);
    await replica.admin('restart');
    expect((await createJob(replica, small)).id).toBe(id);
    const other = await startTestReplica('vllm-omni-2026', { idSeed: 'the same' });
    expect((await createJob(other, small)).id).toBe(id);
    await other.close();
  });

  it('has a disk that fills', async () => {
    replica = await startTestReplica('vllm-omni-2026', { diskBytes: 10 });
    const { id } = await createJob(replica, small);
    await until('its failure', async () => (await getJob(replica, id)).body.status === 'failed');
    expect((await getJob(replica, id)).body.error).toMatchObject({ message: expect.stringMatching(/No space left/) });
  });

  it('forgets jobs and files after a time of its own', async () => {
    replica = await startTestReplica('vllm-omni-2026', { clock: 'virtual', renderBaseMs: 10, expireAfterMs: 1_000 });
    const { id, created_at: created } = await createJob(replica, small);
    await replica.admin('advance', { ms: 10 });
    expect(await completed(replica, id)).toMatchObject({ expires_at: created + 1 });
    await replica.admin('advance', { ms: 1_000 });
    expect((await getJob(replica, id)).status).toBe(404);
    expect(await replica.state()).toMatchObject({ jobs: [], files: [] });
  });

  it('is busy when its line is full', async () => {
    replica = await startTestReplica('vllm-omni-2026', { queueCap: 1, renderBaseMs: 60_000 });
    await createJob(replica, small);
    const refused = await replica.postForm('/v1/videos', small);
    expect({ status: refused.status, retryAfter: refused.headers.get('retry-after') }).toEqual({
      status: 503,
      retryAfter: null,
    });
    expect((await replica.log()).totals).toMatchObject({ rendersOrdered: 1 });
  });

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
