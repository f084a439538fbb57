import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { until } from '@turnpike/test-support/until';
import sharp from 'sharp';
import type { FaultKind } from '../src/faults/fault.ts';
import { encodeAudio } from '../src/outputs/encodeAudio.ts';
import { speak } from '../src/outputs/tones.ts';
import { decodeSeconds, probeClip, toBuffer } from './support/readMedia.ts';
import { MODEL, type Rule, startTestReplica, type TestReplica } from './support/testReplica.ts';
import { completed, createJob, getJob } from './support/videoJobs.ts';

const IMAGES = 'POST /v1/images/generations';
const CONTENT = 'GET /v1/videos/{id}/content';
const small = { prompt: 'a canary', size: '64x48', fps: '8', seconds: '1' };

let replica: TestReplica;
beforeEach(async () => {
  replica = await startTestReplica('vllm-omni-2026');
});
afterEach(() => replica.close());

/** The content of a job made before the fault is there. */
async function contentUnder(fault: Rule): Promise<Response> {
  const { id } = await createJob(replica, small);
  await completed(replica, id);
  await replica.addFaults({ ...fault, match: { route: CONTENT } });
  return replica.get(`/v1/videos/${id}/content`);
}

const readAll = async (response: Response): Promise<string> =>
  response.arrayBuffer().then(
    () => 'whole',
    () => 'broken',
  );

describe('a rule', () => {
  const statuses = async (count: number): Promise<number[]> => {
    const seen: number[] = [];
    for (let at = 0; at < count; at += 1) seen.push((await replica.get('/v1/models')).status);
    return seen;
  };

  it.each([
    ['for as long as it is there', {}, [500, 500, 500, 500]],
    ['once', { times: 1 }, [500, 200, 200, 200]],
    ['for a while', { times: 3 }, [500, 500, 500, 200]],
    ['the nth time', { match: { nth: 3 } }, [200, 200, 500, 200]],
    ['every nth time', { match: { everyNth: 2 } }, [200, 500, 200, 500]],
    ['on its route alone', { match: { route: 'GET /health' } }, [200, 200, 200, 200]],
    ['with its model alone', { match: { model: 'another' } }, [200, 200, 200, 200]],
    ['with its model', { match: { model: MODEL } }, [500, 500, 500, 500]],
  ] as const)('strikes %s', async (_case, rule, expected) => {
    await replica.addFaults({ fault: 'refuse_500', ...rule });
    expect(await statuses(4)).toEqual(expected);
  });

  it('strikes by chance, and the same requests each time', async () => {
    const rule = { fault: 'refuse_500', match: { probability: 0.2 } } as const;
    await replica.addFaults(rule);
    const first = await statuses(100);
    const share = first.filter((status) => status === 500).length;
    expect(share).toBeGreaterThan(8);
    expect(share).toBeLessThan(35);
    await replica.clearFaults();
    expect(await statuses(1)).toEqual([200]);
    await replica.addFaults(rule);
    expect(await statuses(100)).toEqual(first);
  });

  it('is refused where its fault cannot strike, and is noted where it did', async () => {
    await expect(replica.addFaults({ fault: 'stuck', match: { route: 'GET /v1/models' } })).rejects.toThrow(/400/);
    await replica.addFaults({ fault: 'refuse_503_retry_after' });
    const refused = await replica.get('/v1/models');
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '2']);
    expect(await replica.lastRequest('GET /v1/models')).toMatchObject({ fault: 'refuse_503_retry_after', status: 503 });
  });
});

describe('in place of an answer', () => {
  it.each([
    ['refuse_500', 500],
    ['refuse_503', 503],
    ['refuse_429', 429],
    ['refuse_404', 404],
    ['refuse_401', 401],
    ['refuse_409', 409],
  ] as const)('%s is a %i, and nothing is begun', async (fault, status) => {
    await replica.addFaults({ fault });
    const response = await replica.postForm('/v1/videos', small);
    expect([response.status, await response.json()]).toEqual([status, { detail: expect.any(String) }]);
    expect((await replica.log()).renders).toEqual([]);
  });

  it('refuse_409 for ever keeps a job from being deleted', async () => {
    const { id } = await createJob(replica, small);
    await replica.addFaults({ fault: 'refuse_409', match: { route: 'DELETE /v1/videos/{id}' } });
    for (let at = 0; at < 3; at += 1) expect((await replica.delete(`/v1/videos/${id}`)).status).toBe(409);
    expect((await getJob(replica, id)).status).toBe(200);
  });

  it('refuse_404 for a while hides a job, which then is back', async () => {
    const { id } = await createJob(replica, small);
    await replica.addFaults({ fault: 'refuse_404', match: { route: 'GET /v1/videos/{id}' }, times: 2 });
    const seen = [await getJob(replica, id), await getJob(replica, id), await getJob(replica, id)];
    expect(seen.map(({ status }) => status)).toEqual([404, 404, 200]);
  });

  it('reset_before_answer breaks the connection, and nothing is begun', async () => {
    await replica.addFaults({ fault: 'reset_before_answer' });
    await expect(replica.postForm('/v1/videos', small)).rejects.toThrow();
    expect((await replica.log()).renders).toEqual([]);
  });

  it('answer_lost breaks the connection when all has begun', async () => {
    await replica.addFaults({ fault: 'answer_lost', match: { route: 'POST /v1/videos' } });
    await expect(replica.postForm('/v1/videos', small)).rejects.toThrow();
    const { jobs } = await replica.state();
    expect(jobs).toMatchObject([{ prompt: 'a canary' }]);
    await completed(replica, jobs[0]?.id);
    expect(await replica.lastRequest('POST /v1/videos')).toMatchObject({ state: 'broken', bytesServed: 0 });
    expect((await replica.log()).totals).toMatchObject({ rendersFinished: 1 });
  });

  it('never_answers is silence', async () => {
    await replica.addFaults({ fault: 'never_answers' });
    await expect(fetch(`${replica.url}/health`, { signal: AbortSignal.timeout(200) })).rejects.toThrow(/timeout/);
  });

  it('html_with_200 and invalid_json are what they say', async () => {
    await replica.addFaults({ fault: 'html_with_200', times: 1 }, { fault: 'invalid_json', times: 1 });
    const page = await replica.get('/v1/models');
    expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html']);
    expect(await page.text()).toMatch(/^<html>/);
    await expect((await replica.get('/v1/models')).json()).rejects.toThrow(/JSON/);
  });
});

describe('of a body', () => {
  it('body_empty and body_short are shorter and whole', async () => {
    expect((await toBuffer(await contentUnder({ fault: 'body_empty' }))).length).toBe(0);
    await replica.clearFaults();
    const short = await contentUnder({ fault: 'body_short' });
    const [file] = (await replica.state()).files;
    expect((await toBuffer(short)).length).toBe(Math.floor((file?.bytes ?? 0) / 2));
  });

  it.each(['body_reset', 'wrong_length'] as const)('%s breaks', async (fault) => {
    expect(await readAll(await contentUnder({ fault, afterBytes: 700 }))).toBe('broken');
    const { state, bytesServed } = await replica.lastRequest(CONTENT);
    const bytes = (await replica.state()).files[0]?.bytes;
    expect({ state, bytesServed }).toEqual({ state: 'broken', bytesServed: fault === 'body_reset' ? 700 : bytes });
  });

  it('body_endless goes on until its reader leaves', async () => {
    const { body } = await contentUnder({ fault: 'body_endless' });
    const reader = body?.getReader();
    let length = 0;
    while (length < 5_000_000) length += (await reader?.read())?.value?.length ?? 0;
    await reader?.cancel();
    expect(await replica.lastRequest(CONTENT)).toMatchObject({ state: 'aborted' });
  });

  it('body_slow is one byte at a time', async () => {
    const { body } = await contentUnder({ fault: 'body_slow', byteMs: 20 });
    const reader = body?.getReader();
    const first = await reader?.read();
    expect(first?.value?.length).toBeLessThan(5);
    await reader?.cancel();
    expect((await replica.lastRequest(CONTENT)).bytesServed).toBeLessThan(100);
  });

  it('wrong_type is another word for the same bytes', async () => {
    const response = await contentUnder({ fault: 'wrong_type' });
    expect(response.headers.get('content-type')).toBe('text/html');
    expect(await probeClip(await toBuffer(response))).toMatchObject({ frames: 9 });
  });
});

describe('of a job', () => {
  it('completed_without_file says completed, and has nothing', async () => {
    await replica.addFaults({ fault: 'completed_without_file' });
    const { id } = await createJob(replica, small);
    await completed(replica, id);
    expect((await replica.get(`/v1/videos/${id}/content`)).status).toBe(404);
    expect((await replica.state()).files).toEqual([]);
  });

  it.each([
    ['progress_101', { progress: 101 }],
    ['progress_null', { progress: null }],
    ['progress_text', { progress: 'almost done' }],
    ['status_unknown', { status: 'post_processing' }],
  ] as const)('%s bends a job and each of a list', async (fault, expected) => {
    const { id } = await createJob(replica, small);
    await completed(replica, id);
    await replica.addFaults({ fault });
    expect((await getJob(replica, id)).body).toMatchObject({ id, ...expected });
    expect(await (await replica.get('/v1/videos')).json()).toMatchObject({ data: [{ id, ...expected }] });
  });

  it('list_of_10000 has strangers in it', async () => {
    const { id } = await createJob(replica, small);
    await replica.addFaults({ fault: 'list_of_10000' });
    const { data } = (await (await replica.get('/v1/videos')).json()) as { data: { id: string }[] };
    expect(data).toHaveLength(10_000);
    expect(data[0]?.id).toBe(id);
  });

  it('stuck never ends, keeps the slot, and DELETE frees it also where DELETE leaves renders running', async () => {
    for (const personality of ['vllm-omni-2026', 'vllm-omni-early'] as const) {
      await replica.close();
      replica = await startTestReplica(personality);
      await replica.addFaults({ fault: 'stuck', times: 1 });
      const stuck = await createJob(replica, small);
      const behind = await createJob(replica, small);
      await new Promise((resolve) => setTimeout(resolve, 100));
      expect(await replica.state()).toMatchObject({ running: [{ jobId: stuck.id }], waiting: [{ jobId: behind.id }] });
      await replica.delete(`/v1/videos/${stuck.id}`);
      await completed(replica, behind.id);
    }
  });

  it.each([
    ['render_fails', 500, /^CUDA error/],
    ['render_fails_with_prompt', 500, /'a canary'/],
    ['render_refuses_prompt', 400, /safety checker: 'a canary'/],
  ] as const)('%s fails with its own words', async (fault, status, message) => {
    await replica.addFaults({ fault });
    const { id } = await createJob(replica, small);
    await until('its end', async () => (await getJob(replica, id)).body.status === 'failed');
    expect(await getJob(replica, id)).toMatchObject({
      status,
      body: { error: { code: status, message: expect.stringMatching(message) } },
    });
  });
});

describe('of a clip', () => {
  async function clipUnder(fault: FaultKind): Promise<Buffer> {
    await replica.addFaults({ fault });
    const { id } = await createJob(replica, small);
    await completed(replica, id);
    return toBuffer(await replica.get(`/v1/videos/${id}/content`));
  }

  it.each(['output_truncated', 'output_html', 'output_without_content', 'output_forged_header'] as const)(
    '%s is no clip',
    async (fault) => {
      const bytes = await clipUnder(fault);
      expect(bytes.length).toBeGreaterThan(0);
      const clip = await probeClip(bytes).catch(() => ({ frames: 0 }));
      expect(clip.frames).toBe(0);
    },
  );

  it('output_empty has no byte', async () => {
    expect((await clipUnder('output_empty')).length).toBe(0);
  });

  it('output_wrong_kind is a GIF', async () => {
    expect(await probeClip(await clipUnder('output_wrong_kind'))).toMatchObject({ format: 'gif' });
  });

  it('output_other_size has fewer frames', async () => {
    expect(await probeClip(await clipUnder('output_other_size'))).toMatchObject({ frames: 5 });
  });

  it('output_with_prompt plays, and tells what was asked', async () => {
    const bytes = await clipUnder('output_with_prompt');
    expect(await probeClip(bytes)).toMatchObject({ frames: 9 });
    expect(bytes.includes('a canary')).toBe(true);
  });
});

describe('of an image', () => {
  async function drawUnder(fault: FaultKind, n = 1): Promise<Buffer[]> {
    await replica.addFaults({ fault, match: { route: IMAGES } });
    const fields = { prompt: 'a canary', size: '64x48', n };
    const response = await replica.postJson('/v1/images/generations', fields);
    const { data } = (await response.json()) as { data: { b64_json: string }[] };
    return data.map(({ b64_json }) => Buffer.from(b64_json, 'base64'));
  }
  /** Decodes all of its pixels. */
  const decode = (image: Buffer | undefined) => sharp(image).raw().toBuffer({ resolveWithObject: true });

  it.each(['output_truncated', 'output_html', 'output_without_content', 'output_forged_header'] as const)(
    '%s cannot be decoded to what was asked',
    async (fault) => {
      const [image] = await drawUnder(fault);
      const decoded = await decode(image).catch(() => undefined);
      expect(decoded?.info.width).not.toBe(64);
    },
  );

  it('output_other_size, output_wrong_kind and fewer_images are images', async () => {
    expect((await decode((await drawUnder('output_other_size'))[0])).info).toMatchObject({ width: 32, height: 48 });
    await replica.clearFaults();
    expect(await sharp((await drawUnder('output_wrong_kind'))[0]).metadata()).toMatchObject({ format: 'gif' });
    await replica.clearFaults();
    expect(await drawUnder('fewer_images', 3)).toHaveLength(2);
  });

  it('output_with_prompt can be seen, and tells what was asked', async () => {
    const [image] = await drawUnder('output_with_prompt');
    expect((await decode(image)).info).toMatchObject({ width: 64, height: 48 });
    expect(image?.includes('a canary')).toBe(true);
  });

  it('render_fails is the answer', async () => {
    await replica.addFaults({ fault: 'render_fails' });
    const response = await replica.postJson('/v1/images/generations', { prompt: 'x' });
    expect([response.status, await response.json()]).toMatchObject([500, { detail: expect.stringMatching(/CUDA/) }]);
  });
});

describe('of speech', () => {
  const speech = (fields: object = {}) =>
    replica.postJson('/v1/audio/speech', { input: 'Hello, world', response_format: 'wav', ...fields });

  it('body_reset breaks a stream after so many bytes', async () => {
    await replica.addFaults({ fault: 'body_reset', afterBytes: 10_000 });
    const response = await speech({ stream_format: 'audio' });
    expect(response.status).toBe(200);
    expect(await readAll(response)).toBe('broken');
    expect(await replica.lastRequest('POST /v1/audio/speech')).toMatchObject({ bytesServed: 10_000, state: 'broken' });
  });

  it('output_forged_header says a second of speech that lasts longer or shorter', async () => {
    await replica.addFaults({ fault: 'output_forged_header' });
    const bytes = await toBuffer(await speech());
    expect(bytes.readUInt32LE(40)).toBe(48_000);
    expect(bytes.length - 44).toBe(0.96 * 48_000);
  });

  it('output_other_size is half of the text', async () => {
    await replica.addFaults({ fault: 'output_other_size' });
    expect(await decodeSeconds(await toBuffer(await speech()))).toBe(0.6);
  });

  it('speech_without_done just ends', async () => {
    await replica.addFaults({ fault: 'speech_without_done' });
    const text = await (await speech({ stream_format: 'sse' })).text();
    expect(text).toMatch(/speech\.audio\.delta/);
    expect(text).not.toMatch(/speech\.audio\.done/);
  });
});

describe('of a transcript', () => {
  const TEXT =
    'one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen';
  async function transcribeUnder(fault: FaultKind, format = 'json') {
    await replica.close();
    replica = await startTestReplica('vllm-asr');
    await replica.addFaults({ fault });
    const pcm = speak(TEXT, { speed: 1, loudness: 8_000 });
    const wav = await encodeAudio(pcm, 'wav', { isStreamed: false });
    const file = new Blob([Uint8Array.from(wav)]);
    const response = await replica.postForm('/v1/audio/transcriptions', { file, response_format: format });
    return (await response.json()) as { text: string; segments: { start: number }[] };
  }

  it.each([
    ['usage_missing', 'json', { text: TEXT }],
    ['usage_negative', 'json', { text: TEXT, usage: { type: 'duration', seconds: -7 } }],
    ['usage_text', 'json', { text: TEXT, usage: { type: 'duration', seconds: 'seven' } }],
  ] as const)('%s', async (fault, format, expected) => {
    expect(await transcribeUnder(fault, format)).toEqual(expected);
  });

  it('duration_negative, duration_other_form and segments_out_of_order', async () => {
    expect(await transcribeUnder('duration_negative', 'verbose_json')).toMatchObject({ duration: -6.6 });
    expect(await transcribeUnder('duration_other_form', 'verbose_json')).toMatchObject({ duration: '6.6' });
    const { segments } = await transcribeUnder('segments_out_of_order', 'verbose_json');
    expect(segments[0]?.start).toBeGreaterThan(segments[1]?.start ?? 0);
  });

  it('transcript_of_30_mb', async () => {
    const { text } = await transcribeUnder('transcript_of_30_mb');
    expect(text).toHaveLength(30_000_000);
  });
});
