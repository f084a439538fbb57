import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from '@jest/globals';
import type { Video, VideoList } from '@turnpike/public-api/video';
import { until } from '@turnpike/test-support/until';
import { listRenders, type Render, whileBackendsFail, whileBackendsPause } from '../../support/mediaBackends.ts';
import { type Answer, createClient } from '../support/http.ts';
import {
  aCaller,
  anImage,
  aPrompt,
  aRecording,
  aSpeech,
  aVideo,
  type Caller,
  expectSpent,
  heldOf,
  type Job,
  jobOf,
  made,
  pathOf,
  untilEnded,
} from '../support/mediaCalls.ts';
import { jobTable, stack } from '../support/mediaStack.ts';
import { row } from '../support/row.ts';
import { flat } from '../support/shapes.ts';
import { MODELS, PRICES } from '../support/writeMediaCatalog.ts';

const GENERATE = '/images/generations';
const DAY_SECONDS = 24 * 60 * 60;
/** A key is remembered for 5 s; the rest is for a machine that is busy. */
const REVOKED_WITHIN_MS = 15_000;
const RETRY = { 'x-stainless-retry-count': '1' };

const rendersOf = async (prompt: string): Promise<Render[]> =>
  (await listRenders(stack)).filter((render) => render.prompt === prompt);

/** Makes a video and takes its job as it was answered. */
async function aVideoJob(caller: Caller, fields: object = {}): Promise<Job> {
  const answer = await caller.post('/videos', aVideo(fields));
  expect(answer.status).toBe(200);
  return jobOf(answer);
}

/**
 * Makes the job's end lie further back, by so many seconds, than it did; what follows from it as well. Waits until nobody has it in
 * hand: what is written then is of before its times are moved.
 */
async function age({ id }: Pick<Job, 'id'>, seconds: number): Promise<void> {
  await until('nothing to be left to do for the job but its removal', async () => {
    const { rowCount } = await jobTable.query(
      `UPDATE job SET ended_at = ended_at - make_interval(secs => $2), expires_at = expires_at - make_interval(secs => $2),
         remove_at = remove_at - make_interval(secs => $2), due_at = due_at - make_interval(secs => $2)
       WHERE job_id = $1 AND due_at = remove_at`,
      [id, seconds],
    );
    return rowCount === 1;
  });
}

/** Asserts the one 404 of jobs, and gives its bytes. */
function expectNotFound({ status, body, text, headers }: Answer): string {
  expect({ status, body }).toEqual({ status: 404, body: flat('job_not_found') });
  expect(headers.get('x-should-retry')).toBe('false');
  return text;
}

row('media.jobs.states', async () => {
  const caller = await aCaller();
  for (const [model, path, body] of [
    [MODELS.video, '/videos', aVideo()],
    [MODELS.image, GENERATE, anImage({ async: true })],
    [MODELS.speech, '/audio/speech', aSpeech({ async: true })],
    [MODELS.transcript, '/audio/transcriptions', aRecording({ async: 'true' })],
  ] as const) {
    const seen = new Set<string>();
    const job = await whileBackendsPause(stack, model, async () => {
      const answered = jobOf(await caller.post(path, body));
      seen.add(answered.status);
      return until('the job to be in progress', async () => {
        const now = jobOf(await caller.get(pathOf(answered)));
        expect(now.progress).toBeLessThan(100);
        expect(now.usage).toBeNull();
        seen.add(now.status);
        return now.status === 'in_progress' ? now : undefined;
      });
    });
    const ended = await untilEnded(caller, job);
    expect([...seen, ended.status]).toEqual(['queued', 'in_progress', 'completed']);
    expect(ended).toMatchObject({ id: job.id, progress: 100, queue_position: null, error: null });
    expect(ended.usage).toMatchObject({ units_consumed: expect.any(Number), total_spend: expect.any(Number) });
    expect(ended.completed_at).toBeGreaterThanOrEqual(ended.created_at);
    expect((ended.expires_at ?? 0) - (ended.completed_at ?? 0)).toBe(DAY_SECONDS);
  }
});

row('media.jobs.failed', async () => {
  const caller = await aCaller();
  const prompt = aPrompt();
  const ends = async (fault: string, body: object = aVideo({ prompt })) =>
    whileBackendsFail(stack, MODELS.video, fault, async () =>
      untilEnded(caller, jobOf(await caller.post('/videos', body))),
    );
  for (const [fault, code] of [
    ['render_fails_with_prompt', 'generation_failed'],
    ['render_refuses_prompt', 'content_refused'],
    ['output_html', 'invalid_output'],
    ['output_without_content', 'invalid_output'],
    ['output_forged_header', 'invalid_output'],
  ] as const) {
    const job = await ends(fault);
    expect({ fault, ...job }).toMatchObject({
      fault,
      status: 'failed',
      error: { code, message: expect.stringMatching(/./) },
      usage: { billing_unit: 'second', units_consumed: 0, total_spend: 0 },
    });
    expect(job.error?.message).not.toContain(prompt);
    expect((await caller.get(`${pathOf(job)}/content`)).status).toBe(404);
  }
  await expectSpent(caller, 0n);
});

row('media.jobs.ids', async () => {
  const caller = await aCaller();
  const jobs = [
    await aVideoJob(caller),
    await aVideoJob(caller),
    jobOf(await caller.post(GENERATE, anImage({ async: true }))),
  ];
  for (const { id, object } of jobs)
    expect(id).toMatch(object === 'video' ? /^video_[0-9A-Za-z]{22}$/ : /^job_[0-9A-Za-z]{22}$/);
  const starts = jobs.map(({ id }) => id.replace(/^\w+_/, '').slice(0, 10));
  expect(new Set(starts).size).toBe(jobs.length);
});

row('media.jobs.not-found', async () => {
  const [caller, stranger] = [await aCaller(), await aCaller()];
  const sameWorkspace = await stack.operator.makeKey(caller.account.workspaceId);
  const video = await made(caller, '/videos', aVideo());
  const image = await made(caller, GENERATE, anImage({ async: true }));
  const [expired, deleted] = [await made(caller, '/videos', aVideo()), await made(caller, '/videos', aVideo())];
  await age(expired, DAY_SECONDS);
  expect((await caller.send('DELETE', pathOf(deleted))).status).toBe(200);
  const paths = [
    `/videos/video_${'z'.repeat(22)}`,
    '/videos/x',
    `/videos/${'a'.repeat(1_000)}`,
    '/images/jobs/%F0%9F%90%88',
    `/videos/${image.id}`,
    `/images/jobs/${video.id}`,
    `/audio/jobs/${image.id}`,
    pathOf(expired),
    pathOf(deleted),
  ];
  const ofStrangers = [stranger, createClient(stack.baseUrl, sameWorkspace)];
  const bodies = await Promise.all(
    ['', '/content'].flatMap((content) => [
      ...paths.map((path) => caller.get(`${path}${content}`)),
      ...ofStrangers.flatMap((other) => [video, image].map((job) => other.get(`${pathOf(job)}${content}`))),
    ]),
  );
  const deletes = await Promise.all([
    ...paths.map((path) => caller.send('DELETE', path)),
    ...ofStrangers.flatMap((other) => [video, image].map((job) => other.send('DELETE', pathOf(job)))),
  ]);
  expect(new Set([...bodies, ...deletes].map(expectNotFound)).size).toBe(1);
  for (const job of [video, image]) expect((await caller.get(pathOf(job))).status).toBe(200);
});

row('media.jobs.retention', async () => {
  const caller = await aCaller();
  for (const [path, body] of [
    ['/videos', aVideo()],
    [GENERATE, anImage({ async: true })],
  ] as const) {
    const job = await made(caller, path, body);
    await age(job, DAY_SECONDS - 60);
    expect((await caller.get(pathOf(job))).status).toBe(200);
    expect((await caller.get(`${pathOf(job)}/content`)).status).toBe(200);
    await age(job, 60);
    expectNotFound(await caller.get(pathOf(job)));
    expectNotFound(await caller.get(`${pathOf(job)}/content`));
    expectNotFound(await caller.send('DELETE', pathOf(job)));
  }
});

row('media.jobs.queue-position', async () => {
  const caller = await aCaller();
  await whileBackendsPause(stack, MODELS.video, async () => {
    // Two replicas with a slot each have the first two, one after the other.
    const jobs = [await aVideoJob(caller), await aVideoJob(caller), await aVideoJob(caller), await aVideoJob(caller)];
    await until('the others to be the next two', async () => {
      const seen = await Promise.all(jobs.slice(2).map(async (job) => jobOf(await caller.get(pathOf(job)))));
      return seen.map(({ status, queue_position: position }) => `${status} ${position}`).join() === 'queued 0,queued 1';
    });
    await Promise.all(jobs.map((job) => caller.send('DELETE', pathOf(job))));
  });
});

row('media.jobs.cancel', async () => {
  const caller = await aCaller();
  const prompt = aPrompt();
  await whileBackendsPause(stack, MODELS.video, async () => {
    const ahead = [await aVideoJob(caller), await aVideoJob(caller), await aVideoJob(caller)];
    const job = await aVideoJob(caller, { prompt });
    const { status, body } = await caller.send('DELETE', pathOf(job));
    expect({ status, body }).toEqual({ status: 200, body: { id: job.id, object: 'video.deleted', deleted: true } });
    expectNotFound(await caller.get(pathOf(job)));
    await Promise.all(ahead.map((each) => caller.send('DELETE', pathOf(each))));
  });
  await expectSpent(caller, 0n);
  expect(await rendersOf(prompt)).toEqual([]);
});

row('media.jobs.cancel-running', async () => {
  const caller = await aCaller();
  const prompt = aPrompt();
  await whileBackendsPause(stack, MODELS.video, async () => {
    const job = await aVideoJob(caller, { prompt });
    await until('the backend to have it', async () => (await rendersOf(prompt)).length > 0);
    expect((await caller.send('DELETE', pathOf(job))).status).toBe(200);
    expectNotFound(await caller.get(pathOf(job)));
    await until('the render to be gone', async () =>
      (await rendersOf(prompt)).every(({ state }) => state === 'aborted'),
    );
  });
  // A render that never ends keeps its slot until the job is cancelled.
  const stuck = aPrompt();
  await whileBackendsFail(stack, MODELS.video, 'stuck', async () => {
    const job = await aVideoJob(caller, { prompt: stuck });
    await until('the render to be stuck', async () =>
      (await rendersOf(stuck)).some(({ state }) => state === 'running'),
    );
    expect((await caller.send('DELETE', pathOf(job))).status).toBe(200);
  });
  await until('its slot to be free', async () => (await rendersOf(stuck)).every(({ state }) => state === 'aborted'));
  await expectSpent(caller, 0n);
});

row('media.jobs.delete', async () => {
  const caller = await aCaller();
  for (const [path, body, object] of [
    ['/videos', aVideo(), 'video.deleted'],
    [GENERATE, anImage({ async: true }), 'image.job.deleted'],
    ['/audio/speech', aSpeech({ async: true }), 'audio.job.deleted'],
  ] as const) {
    const job = await made(caller, path, body);
    const { status, body: told } = await caller.send('DELETE', pathOf(job));
    expect({ status, told }).toEqual({ status: 200, told: { id: job.id, object, deleted: true } });
    expectNotFound(await caller.get(`${pathOf(job)}/content`));
    expectNotFound(await caller.send('DELETE', pathOf(job)));
  }
  await expectSpent(caller, PRICES.second + PRICES.image + 10n * PRICES.character);
});

row('media.jobs.prefer-wait', async () => {
  const caller = await aCaller();
  const waitFor = async (job: Job, seconds: number) => {
    const begunAt = performance.now();
    const { body } = await caller.get(pathOf(job), { headers: { prefer: `wait=${seconds}` } });
    return { job: body as Job, ms: performance.now() - begunAt };
  };
  const job = await whileBackendsPause(stack, MODELS.image, async () => {
    const made = jobOf(await caller.post(GENERATE, anImage({ async: true })));
    await until('it to be in progress', async () => jobOf(await caller.get(pathOf(made))).status === 'in_progress');
    const inVain = await waitFor(made, 1);
    expect(inVain.job.status).toBe('in_progress');
    expect(inVain.ms).toBeGreaterThan(900);
    return made;
  });
  const ended = await waitFor(job, 30);
  expect(ended.job.status).toBe('completed');
  // Neither waits for the 30 s that it may.
  expect(ended.ms).toBeLessThan(28_000);
  expect((await waitFor(job, 30)).ms).toBeLessThan(28_000);
});

row('media.jobs.poll-after', async () => {
  const caller = await aCaller();
  const job = await whileBackendsPause(stack, MODELS.video, async () => {
    const made = await caller.post('/videos', aVideo());
    for (const { headers } of [made, await caller.get(pathOf(jobOf(made)))]) {
      expect(headers.get('openai-poll-after-ms')).toMatch(/^\d{4,5}$/);
      expect(headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
    }
    return jobOf(made);
  });
  await untilEnded(caller, job);
  expect((await caller.get(pathOf(job))).headers.has('openai-poll-after-ms')).toBe(false);
});

row('media.jobs.retried', async () => {
  const caller = await aCaller();
  const [prompt, ofImage] = [aPrompt(), aPrompt()];
  const video = { model: MODELS.video, prompt, seconds: '1' };
  const first = jobOf(await caller.post('/videos', video));
  const form = new FormData();
  for (const [name, value] of Object.entries(video).reverse()) form.append(name, value);
  for (const body of [video, { ...video, seconds: 1, size: null }, form]) {
    const again = await caller.post('/videos', body, { headers: RETRY });
    expect({ status: again.status, id: jobOf(again).id }).toEqual({ status: 200, id: first.id });
  }
  const images = await whileBackendsPause(stack, MODELS.image, async () => {
    const ask = (headers: Record<string, string> = {}) =>
      caller.post(GENERATE, anImage({ prompt: ofImage }), { headers });
    const answers = [ask()];
    await until('the backend to have it', async () => (await rendersOf(ofImage)).length > 0);
    answers.push(ask(RETRY), ask({ 'x-stainless-retry-count': '2' }));
    return answers;
  }).then((answers) => Promise.all(answers));
  expect(images.map(({ status }) => status)).toEqual([200, 200, 200]);
  expect(new Set(images.map(({ text }) => text)).size).toBe(1);
  await untilEnded(caller, first);
  await expectSpent(caller, PRICES.second + PRICES.image);
  expect(await rendersOf(prompt)).toHaveLength(1);
  expect(await rendersOf(ofImage)).toHaveLength(1);
});

row('media.speech.retried', async () => {
  const caller = await aCaller();
  for (const fields of [{}, { response_format: 'mp3' }, { response_format: 'pcm', stream_format: 'sse' }]) {
    const speech = aSpeech({ input: aPrompt(), ...fields });
    const first = await caller.post('/audio/speech', speech);
    for (const count of ['1', '2']) {
      const again = await caller.post('/audio/speech', speech, { headers: { 'x-stainless-retry-count': count } });
      expect({ status: again.status, type: again.headers.get('content-type') }).toEqual({
        status: 200,
        type: first.headers.get('content-type'),
      });
      expect(again.bytes.length).toBeGreaterThan(0);
      if (!('stream_format' in fields)) expect(again.bytes.equals(first.bytes)).toBe(true);
      expect(again.headers.get('x-total-spend')).toBe(first.headers.get('x-total-spend'));
    }
    expect(audioOf(first).equals(audioOf(await caller.post('/audio/speech', speech, { headers: RETRY })))).toBe(true);
    expect(await rendersOf(speech.input)).toHaveLength(1);
  }
  const characters = BigInt(aPrompt().length);
  await expectSpent(caller, 3n * characters * PRICES.character);
  // Two calls of one body are two.
  const speech = aSpeech({ input: aPrompt() });
  for (let call = 0; call < 2; call += 1) expect((await caller.post('/audio/speech', speech)).status).toBe(200);
  await expectSpent(caller, 5n * characters * PRICES.character);
});

/** The audio of speech, which events hold in parts. */
function audioOf({ headers, bytes, text }: Answer): Buffer {
  if (!headers.get('content-type')?.startsWith('text/event-stream')) return bytes;
  const events = text
    .trim()
    .split('\n\n')
    .map((event) => JSON.parse(event.slice('data: '.length)) as { audio?: string });
  return Buffer.concat(events.map(({ audio = '' }) => Buffer.from(audio, 'base64')));
}

row('media.transcripts.retried', async () => {
  const caller = await aCaller();
  const charge = PRICES.minute / 60n;
  for (const [path, fields] of [
    ['/audio/transcriptions', { response_format: 'verbose_json' }],
    ['/audio/transcriptions', { stream: 'true' }],
    ['/audio/translations', { response_format: 'srt' }],
  ] as const) {
    const before = await caller.account.findSpend();
    const answers = await whileBackendsPause(stack, MODELS.transcript, async () => {
      const ask = (headers: Record<string, string> = {}) => caller.post(path, aRecording(fields), { headers });
      const asked = [ask()];
      await until('the call to be under way', async () => (await heldOf(caller.account)) === charge);
      asked.push(ask(RETRY), ask({ 'x-stainless-retry-count': '2' }));
      return asked;
    }).then((asked) => Promise.all(asked));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    expect(new Set(answers.map(({ headers }) => headers.get('x-total-spend'))).size).toBe(1);
    await expectSpent(caller, before + charge);
  }
});

row('media.transcripts.retried.removal', async () => {
  const caller = await aCaller();
  expect((await caller.post('/audio/transcriptions', aRecording())).status).toBe(200);
  const { workspaceId } = caller.account;
  const { rows } = await jobTable.query('SELECT job_id AS id FROM job WHERE workspace_id = $1', [workspaceId]);
  const [kept] = rows as { id: string }[];
  if (!kept) throw new Error('no answer was kept');
  const objectsOf = async () =>
    (await readdir(join(stack.stateDir, 'data-embedded', 'objects'), { recursive: true })).filter((name) =>
      name.includes(`${kept.id}/`),
    );
  expect(await objectsOf()).not.toEqual([]);
  await age(kept, 10 * 60);
  await until('nothing to be left of it', async () => (await objectsOf()).length === 0);
  const again = await caller.post('/audio/transcriptions', aRecording(), { headers: RETRY });
  expect(again.status).toBe(200);
  await expectSpent(caller, (2n * PRICES.minute) / 60n);
});

row('media.jobs.not-retried', async () => {
  const [caller, other] = [await aCaller(), await aCaller()];
  const video = aVideo();
  const answers = [
    await caller.post('/videos', video),
    await caller.post('/videos', video),
    await caller.post('/videos', video, { headers: { 'x-stainless-retry-count': '0' } }),
    await caller.post('/videos', { ...video, seconds: '2' }, { headers: RETRY }),
    await caller.post('/videos', { ...video, prompt: `${video.prompt} ` }, { headers: RETRY }),
    await other.post('/videos', video, { headers: RETRY }),
  ];
  expect(new Set(answers.map((answer) => jobOf(answer).id)).size).toBe(answers.length);
});

const contentOf = (caller: Caller, job: Job, headers: Record<string, string> = {}): Promise<Answer> =>
  caller.get(`${pathOf(job)}/content`, { headers });

row('media.content.headers', async () => {
  const caller = await aCaller();
  const [clip, image] = [
    await made(caller, '/videos', aVideo()),
    await made(caller, GENERATE, anImage({ async: true })),
  ];
  for (const [job, type, extension] of [
    [clip, 'video/mp4', 'mp4'],
    [image, 'image/png', 'png'],
  ] as const) {
    const { headers, bytes } = await contentOf(caller, job, {
      accept: 'application/binary',
      'accept-encoding': 'gzip',
    });
    expect(Object.fromEntries(headers)).toMatchObject({
      'content-type': type,
      'content-length': String(bytes.length),
      'content-disposition': `attachment; filename="${job.id}.${extension}"`,
      'accept-ranges': 'bytes',
      'x-content-type-options': 'nosniff',
      etag: expect.stringMatching(/^"[0-9a-f]{64}"$/),
    });
    expect(headers.has('content-encoding')).toBe(false);
  }
});

row('media.content.range', async () => {
  const caller = await aCaller();
  const clip = await made(caller, '/videos', aVideo());
  const { bytes: whole, headers } = await contentOf(caller, clip);
  const etag = headers.get('etag') ?? '';
  const last = whole.length - 1;
  for (const [range, start, end] of [
    ['bytes=0-0', 0, 0],
    ['bytes=10-99', 10, 99],
    [`bytes=${last}-`, last, last],
    ['bytes=100-', 100, last],
    ['bytes=-7', last - 6, last],
    [`bytes=5-${last + 1_000}`, 5, last],
  ] as const) {
    const part = await contentOf(caller, clip, { range, 'if-range': etag });
    expect({ range, status: part.status, of: part.headers.get('content-range') }).toEqual({
      range,
      status: 206,
      of: `bytes ${start}-${end}/${whole.length}`,
    });
    expect(part.headers.get('etag')).toBe(etag);
    expect(part.bytes.equals(whole.subarray(start, end + 1))).toBe(true);
  }
});

row('media.content.range.ignored', async () => {
  const caller = await aCaller();
  const clip = await made(caller, '/videos', aVideo());
  const { bytes: whole } = await contentOf(caller, clip);
  const ignored: Record<string, string>[] = [
    { range: `bytes=${whole.length}-` },
    { range: 'bytes=9-3' },
    { range: 'bytes=0-1,3-4' },
    { range: 'lines=0-1' },
    { range: 'bytes=-0' },
    { range: 'bytes=0-1', 'if-range': '"other"' },
  ];
  for (const headers of ignored) {
    const { status, bytes } = await contentOf(caller, clip, headers);
    expect({ headers, status }).toEqual({ headers, status: 200 });
    expect(bytes.equals(whole)).toBe(true);
  }
});

row('media.content.unfinished', async () => {
  const caller = await aCaller();
  const job = await whileBackendsPause(stack, MODELS.video, async () => {
    const unfinished = await aVideoJob(caller);
    expect(await contentOf(caller, unfinished)).toMatchObject({ status: 404, body: flat('content_not_found') });
    return unfinished;
  });
  await untilEnded(caller, job);
  expect((await contentOf(caller, job)).status).toBe(200);
  const image = await made(caller, GENERATE, anImage({ async: true }));
  expect((await caller.get(`${pathOf(image)}/content?index=1`)).status).toBe(404);
});

row('media.content.key', async () => {
  const caller = await aCaller();
  const clip = await made(caller, '/videos', aVideo());
  expect((await contentOf(await aCaller(), clip)).status).toBe(404);
  expect((await createClient(stack.baseUrl).get(`${pathOf(clip)}/content`)).status).toBe(401);
  await stack.operator.changeKey(caller.account.apiKey, 'revoke');
  const looks = [
    contentOf,
    (client: typeof caller) => client.get(pathOf(clip)),
    (client: typeof caller) => client.get('/videos'),
  ];
  const areRefused = async () => {
    const answers = await Promise.all(looks.map((look) => look(caller, clip)));
    return answers.every(({ status }) => status === 401);
  };
  await until('the key to be refused', areRefused, REVOKED_WITHIN_MS);
});

const idsOf = ({ body }: Answer): string[] => (body as VideoList).data.map(({ id }) => id);

row('media.videos.list', async () => {
  const [caller, stranger] = [await aCaller(), await aCaller()];
  expect((await stranger.get('/videos')).body).toEqual({
    object: 'list',
    data: [],
    first_id: null,
    last_id: null,
    has_more: false,
  });
  const ids: string[] = [];
  const whole = await whileBackendsPause(stack, MODELS.video, async () => {
    for (let turn = 0; turn < 5; turn += 1) ids.unshift((await aVideoJob(caller)).id);
    await caller.post(GENERATE, anImage());
    await caller.post(GENERATE, anImage({ async: true }));
    const answer = await caller.get('/videos');
    const [listed] = (answer.body as VideoList).data as [Video];
    // None ends meanwhile. The queue moves between two answers: what it changes is taken from the first.
    const { status, progress, queue_position } = listed;
    expect(listed).toEqual({ ...jobOf(await caller.get(`/videos/${ids[0]}`)), status, progress, queue_position });
    expect({ status, progress, queue_position }).toEqual(
      status === 'queued'
        ? { status, progress: 0, queue_position: expect.any(Number) }
        : { status: expect.any(String), progress: expect.any(Number), queue_position: null },
    );
    return answer;
  });
  expect(idsOf(whole)).toEqual(ids);
  expect(whole.body).toMatchObject({ first_id: ids[0], last_id: ids[4], has_more: false });
  expect(idsOf(await caller.get('/videos?order=asc'))).toEqual(ids.toReversed());
  const first = await caller.get('/videos?limit=2');
  expect({ ids: idsOf(first), more: first.body }).toMatchObject({ ids: ids.slice(0, 2), more: { has_more: true } });
  const second = await caller.get(`/videos?limit=2&after=${ids[1]}`);
  expect({ ids: idsOf(second), more: second.body }).toMatchObject({ ids: ids.slice(2, 4), more: { has_more: true } });
  const last = await caller.get(`/videos?limit=2&after=${ids[3]}`);
  expect({ ids: idsOf(last), more: last.body }).toMatchObject({ ids: ids.slice(4), more: { has_more: false } });
  expect(idsOf(await caller.get(`/videos?order=asc&limit=2&after=${ids[4]}`))).toEqual([ids[3], ids[2]]);
});

row('media.videos.list.expired', async () => {
  const caller = await aCaller();
  const jobs = [await made(caller, '/videos', aVideo()), await made(caller, '/videos', aVideo())];
  jobs.push(await made(caller, '/videos', aVideo()));
  const [oldest, middle, newest] = jobs;
  if (!oldest || !middle || !newest) throw new Error('three videos were made');
  await age(middle, DAY_SECONDS);
  expect(idsOf(await caller.get('/videos'))).toEqual([newest.id, oldest.id]);
  expect(idsOf(await caller.get(`/videos?after=${middle.id}`))).toEqual([oldest.id]);
  expect(idsOf(await caller.get(`/videos?after=${middle.id}&order=asc`))).toEqual([newest.id]);
});

/** Lists the objects of a job in the stack's object store. */
const listObjects = async ({ id }: Pick<Job, 'id'>): Promise<string[]> => {
  const folder = join(stack.stateDir, 'data-embedded', 'objects');
  return (await readdir(folder, { recursive: true })).filter((name) => name.includes(id));
};

interface KeptJob {
  sealed_texts: Buffer | null;
  removed_at: Date | null;
  charge_nano_usd: string;
  outputs: object[];
}
async function readRow({ id }: Pick<Job, 'id'>): Promise<KeptJob> {
  const { rows } = await jobTable.query<KeptJob>('SELECT * FROM job WHERE job_id = $1', [id]);
  if (!rows[0]) throw new Error('there is no row');
  return rows[0];
}

const untilRemoved = (job: Pick<Job, 'id'>): Promise<KeptJob> =>
  until('the removal', async () => {
    const kept = await readRow(job);
    return kept.removed_at === null ? undefined : kept;
  });

row('media.removal', async () => {
  const caller = await aCaller();
  const prompt = aPrompt();
  const job = await made(caller, '/videos', aVideo({ prompt }));
  expect((await listObjects(job)).length).toBeGreaterThan(0);
  expect((await readRow(job)).sealed_texts?.includes(prompt)).toBe(false);
  expect((await caller.send('DELETE', pathOf(job))).status).toBe(200);
  expect(await untilRemoved(job)).toMatchObject({ sealed_texts: null, charge_nano_usd: String(PRICES.second) });
  const files = (await listObjects(job)).filter((name) => /\.\w+$/.test(name));
  expect(files).toEqual([]);
  const log = await readFile(join(stack.stateDir, 'logs', 'media-jobs.log'), 'utf8');
  expect(log).not.toContain(prompt);
});

row('media.removal.video', async () => {
  const caller = await aCaller();
  const job = await made(caller, '/videos', aVideo());
  await age(job, DAY_SECONDS);
  expectNotFound(await caller.get(pathOf(job)));
  const kept = await readRow(job);
  expect(kept.removed_at).toBeNull();
  expect(kept.sealed_texts).not.toBeNull();
  expect((await listObjects(job)).length).toBeGreaterThan(0);
  await age(job, 10 * 60);
  const removed = await untilRemoved(job);
  expect(removed.sealed_texts).toBeNull();
  // Removed objects are reported, and are gone.
  expect(removed.outputs).toEqual([expect.objectContaining({ bytes: expect.any(Number), sha256: expect.any(String) })]);
  expect((await listObjects(job)).filter((name) => /\.\w+$/.test(name))).toEqual([]);
});

row('media.billing.held', async () => {
  const caller = await aCaller({}, { creditUsd: '0.025' });
  await whileBackendsPause(stack, MODELS.video, async () => {
    const job = await aVideoJob(caller, { seconds: '2' });
    expect(await heldOf(caller.account)).toBe(2n * PRICES.second);
    const { status, body } = await caller.post('/videos', aVideo());
    expect({ status, body }).toMatchObject({
      status: 402,
      body: { error: 'insufficient_balance', held_usd: 0.02, max_usage_cost_usd: 0.01 },
    });
    expect((await caller.send('DELETE', pathOf(job))).status).toBe(200);
  });
  await expectSpent(caller, 0n);
  await made(caller, '/videos', aVideo());
  await expectSpent(caller, PRICES.second);
});
