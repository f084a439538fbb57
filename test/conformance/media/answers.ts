import { expect } from '@jest/globals';
import type { ImageAnswer } from '@turnpike/public-api/imageAnswer';
import { aPng } from '@turnpike/test-support/anImage';
import { listRenders, listSentFields, orderMediaBackends, whileBackendsFail } from '../../support/mediaBackends.ts';
import type { Client } from '../support/http.ts';
import {
  aCaller,
  anImage,
  aPrompt,
  aRecording,
  aSpeech,
  aVideo,
  aWav,
  type Caller,
  expectSpent,
  jobOf,
  made,
  pathOf,
  untilEnded,
} from '../support/mediaCalls.ts';
import { QUICK, stack } from '../support/mediaStack.ts';
import { row } from '../support/row.ts';
import { flat } from '../support/shapes.ts';
import { FPS, IMAGE_ALIAS, MODELS, PRICES } from '../support/writeMediaCatalog.ts';

const GENERATE = '/images/generations';
const SPEAK = '/audio/speech';
const TRANSCRIBE = '/audio/transcriptions';
/** The first bytes of each format. */
const SIGNATURES: Record<string, RegExp> = {
  png: /^\x89PNG\r\n/,
  jpeg: /^\xff\xd8\xff/,
  webp: /^RIFF....WEBP/s,
  mp4: /^....ftyp/s,
  mp3: /^(?:ID3|\xff[\xe2-\xff])/,
  opus: /^OggS/,
  aac: /^\xff[\xf0-\xf9]/,
  flac: /^fLaC/,
  wav: /^RIFF....WAVE/s,
};
const startOf = (bytes: Buffer): string => bytes.toString('latin1', 0, 16);
const imageBytes = (answer: ImageAnswer): Buffer[] =>
  answer.data.map(({ b64_json: text = '' }) => Buffer.from(text, 'base64'));

/** Width and height, as a PNG says them. */
const sizeOfPng = (bytes: Buffer): string => `${bytes.readUInt32BE(16)}x${bytes.readUInt32BE(20)}`;

async function imagesOf(caller: Caller, fields: object): Promise<ImageAnswer> {
  const { status, body, headers } = await caller.post(GENERATE, anImage(fields));
  expect({ status, type: headers.get('content-type') }).toMatchObject({
    status: 200,
    type: expect.stringMatching(/^application\/json/),
  });
  return body as ImageAnswer;
}

row('media.models', async () => {
  const { body } = await (await aCaller()).get('/models');
  const { data } = body as { data: { id: string }[] };
  const entryOf = (id: string) => data.find((entry) => entry.id === id);
  expect(entryOf(MODELS.image)).toMatchObject({
    category: 'image',
    billing_unit: 'image',
    unit_price: '0.0025',
    is_ready: true,
    capabilities: { sizes: ['64x64', '96x64'], output_formats: ['png', 'jpeg', 'webp'], max_images: 4 },
  });
  expect(entryOf(MODELS.video)).toMatchObject({ billing_unit: 'second', capabilities: { seconds: [1, 2] } });
  expect(entryOf(MODELS.speech)).toMatchObject({
    billing_unit: 'character',
    capabilities: { voices: ['ada', 'bob'], voice_aliases: { alloy: 'ada' } },
  });
  expect(entryOf(MODELS.transcript)).toMatchObject({
    billing_unit: 'minute',
    capabilities: { max_minutes: 2, languages: ['de', 'en', 'jw', 'yue'], timestamps: ['segment'] },
  });
  expect(entryOf(MODELS.timedTranscript)).toMatchObject({ capabilities: { timestamps: ['segment', 'word'] } });
  for (const id of [MODELS.disabled, MODELS.retired, MODELS.uncleared, MODELS.unbacked])
    expect(entryOf(id)).toBeUndefined();
});

row('media.images.answer', async () => {
  const answer = await imagesOf(await aCaller(), { n: 3, size: '96x64' });
  expect(answer).toMatchObject({
    created: expect.any(Number),
    size: '96x64',
    output_format: 'png',
    usage: { billing_unit: 'image', units_consumed: 3, total_spend: 0.0075 },
  });
  const images = imageBytes(answer);
  expect(images.map(sizeOfPng)).toEqual(['96x64', '96x64', '96x64']);
  expect(new Set(images.map((bytes) => bytes.toString('hex'))).size).toBe(3);
});

row('media.images.formats', async () => {
  const caller = await aCaller();
  for (const format of ['png', 'jpeg', 'webp']) {
    const answer = await imagesOf(caller, { output_format: format });
    expect(answer.output_format).toBe(format);
    for (const bytes of imageBytes(answer)) expect(startOf(bytes)).toMatch(SIGNATURES[format] ?? /$^/);
  }
});

row('media.images.defaults', async () => {
  const { body } = await (await aCaller()).post(GENERATE, { model: MODELS.image, prompt: aPrompt(), size: 'auto' });
  const images = imageBytes(body as ImageAnswer);
  expect(images.map(sizeOfPng)).toEqual(['64x64']);
});

row('media.images.url', async () => {
  const [caller, stranger] = [await aCaller(), await aCaller()];
  const { data } = await imagesOf(caller, { n: 2, response_format: 'url' });
  expect(data).toHaveLength(2);
  for (const { url = '', ...others } of data) {
    expect(others).toEqual({});
    expect(url.startsWith(`${stack.baseUrl}/images/jobs/job_`)).toBe(true);
    const path = url.slice(stack.baseUrl.length);
    expect(startOf((await caller.get(path)).bytes)).toMatch(SIGNATURES.png ?? /$^/);
    expect((await stranger.get(path)).status).toBe(404);
    expect((await fetch(url)).status).toBe(401);
  }
});

/** The events of a stream. */
function eventsOf(text: string): Record<string, unknown>[] {
  const frames = text.split('\n\n').filter((frame) => frame !== '');
  return frames.map((frame) => JSON.parse(frame.replace(/^data: /, '')) as Record<string, unknown>);
}

row('media.images.stream', async () => {
  const { status, headers, text } = await (await aCaller()).post(GENERATE, anImage({ n: 2, stream: true }));
  expect({ status, type: headers.get('content-type') }).toMatchObject({
    status: 200,
    type: expect.stringMatching(/^text\/event-stream/),
  });
  const events = eventsOf(text);
  expect(events.map(({ type }) => type)).toEqual(Array(2).fill('image_generation.completed'));
  for (const { b64_json: image } of events)
    expect(startOf(Buffer.from(String(image), 'base64'))).toMatch(SIGNATURES.png ?? /$^/);
  expect(events.map(({ usage }) => usage)).toEqual([
    undefined,
    { billing_unit: 'image', units_consumed: 2, total_spend: 0.005 },
  ]);
});

row('media.images.alias', async () => {
  expect(await made(await aCaller(), GENERATE, anImage({ model: IMAGE_ALIAS, async: true }))).toMatchObject({
    model: MODELS.image,
  });
});

row('media.images.async', async () => {
  const caller = await aCaller();
  const answer = await caller.post(GENERATE, anImage({ n: 2, async: true }));
  expect(answer.status).toBe(202);
  expect(jobOf(answer)).toEqual({
    id: expect.stringMatching(/^job_/),
    object: 'image.job',
    operation: 'images.generations',
    status: expect.stringMatching(/^(?:queued|in_progress)$/),
    progress: expect.any(Number),
    model: MODELS.image,
    created_at: expect.any(Number),
    completed_at: null,
    expires_at: null,
    queue_position: expect.anything(),
    error: null,
    usage: null,
    data: null,
  });
  const job = await untilEnded(caller, jobOf(answer));
  const { id } = job;
  expect(job).toMatchObject({
    status: 'completed',
    progress: 100,
    queue_position: null,
    usage: { billing_unit: 'image', units_consumed: 2, total_spend: 0.005 },
    data: [0, 1].map((index) => ({ url: `${stack.baseUrl}/images/jobs/${id}/content?index=${index}` })),
  });
  const contents = await Promise.all(
    ['', '?index=0', '?index=1'].map((query) => caller.get(`${pathOf(job)}/content${query}`)),
  );
  expect(contents.map(({ status, headers }) => [status, headers.get('content-type')])).toEqual(
    Array(3).fill([200, 'image/png']),
  );
  expect(contents[0]?.bytes.equals(contents[1]?.bytes ?? Buffer.alloc(0))).toBe(true);
  expect(contents[1]?.bytes.equals(contents[2]?.bytes ?? Buffer.alloc(0))).toBe(false);
  expect((await caller.get(`${pathOf(job)}/content?index=2`)).status).toBe(404);
});

row('media.videos.object', async () => {
  const prompt = aPrompt();
  const answer = await (await aCaller()).post('/videos', aVideo({ prompt, seconds: '2' }));
  expect(answer.status).toBe(200);
  expect(jobOf(answer)).toEqual({
    id: expect.stringMatching(/^video_/),
    object: 'video',
    status: expect.stringMatching(/^(?:queued|in_progress)$/),
    progress: expect.any(Number),
    model: MODELS.video,
    created_at: expect.any(Number),
    completed_at: null,
    expires_at: null,
    queue_position: expect.anything(),
    error: null,
    usage: null,
    prompt,
    seconds: '2',
    size: '64x64',
    remixed_from_video_id: null,
  });
});

/** A form with the fields of a video. */
function aVideoForm(fields: Record<string, string>, file?: Buffer): FormData {
  const form = new FormData();
  if (file) form.append('input_reference', new Blob([new Uint8Array(file)]), 'beginning.png');
  for (const [name, value] of Object.entries(fields)) form.append(name, value);
  return form;
}

row('media.videos.form', async () => {
  const caller = await aCaller();
  const asked: object[] = [
    aVideo({ seconds: 2 }),
    aVideo({ seconds: '2' }),
    aVideoForm({ model: MODELS.video, prompt: aPrompt(), seconds: '2' }),
  ];
  for (const body of asked) {
    const answer = await caller.post('/videos', body);
    expect(answer.status).toBe(200);
    expect(jobOf(answer)).toMatchObject({ seconds: '2', size: '64x64' });
  }
});

row('media.videos.clip', async () => {
  const caller = await aCaller();
  const prompt = aPrompt();
  const job = await made(caller, '/videos', aVideo({ prompt, seconds: '2' }));
  const { status, headers, bytes } = await caller.get(`${pathOf(job)}/content`);
  expect({ status, type: headers.get('content-type') }).toEqual({ status: 200, type: 'video/mp4' });
  expect(startOf(bytes)).toMatch(SIGNATURES.mp4 ?? /$^/);
  // Its index is first, so that it can be played while it comes.
  expect(bytes.indexOf('moov')).toBeLessThan(bytes.indexOf('mdat'));
  const [render] = (await listRenders(stack)).filter((each) => each.prompt === prompt);
  expect(render?.units).toMatchObject({ width: 64, height: 64 });
  expect(render?.units.frames).toBeGreaterThanOrEqual(2 * FPS);
});

row('media.videos.reference', async () => {
  const caller = await aCaller();
  const image = aPng({ width: 64, height: 64 });
  const prompts = [aPrompt(), aPrompt()];
  const dataUrl = `data:image/png;base64,${image.toString('base64')}`;
  const [ofForm = '', ofJson = ''] = prompts;
  await made(caller, '/videos', aVideoForm({ model: MODELS.video, prompt: ofForm, seconds: '1' }, image));
  await made(caller, '/videos', aVideo({ prompt: ofJson, input_reference: { image_url: dataUrl } }));
  const sent = (await listSentFields(stack)).filter(({ prompt }) => prompt !== undefined && prompts.includes(prompt));
  expect(sent).toHaveLength(2);
  for (const fields of sent) expect(fields.input_reference).toContain(String(image.length));
});

row('media.speech.formats', async () => {
  const caller = await aCaller();
  const types = {
    mp3: 'audio/mpeg',
    opus: 'audio/ogg',
    aac: 'audio/aac',
    flac: 'audio/flac',
    wav: 'audio/wav',
    pcm: 'audio/pcm',
  };
  for (const [format, type] of Object.entries(types)) {
    const { status, headers, bytes } = await caller.post(SPEAK, aSpeech({ response_format: format }));
    expect({ format, status, type: headers.get('content-type') }).toEqual({ format, status: 200, type });
    expect(bytes.length).toBeGreaterThan(1_000);
    if (SIGNATURES[format]) expect(startOf(bytes)).toMatch(SIGNATURES[format]);
  }
  const unasked = await caller.post(SPEAK, { model: MODELS.speech, input: 'hi', voice: { id: 'bob' } });
  expect(unasked.headers.get('content-type')).toBe('audio/mpeg');
});

row('media.speech.events', async () => {
  const caller = await aCaller();
  const whole = await caller.post(SPEAK, aSpeech({ response_format: 'pcm' }));
  const { headers, text } = await caller.post(SPEAK, aSpeech({ response_format: 'pcm', stream_format: 'sse' }));
  expect(headers.get('content-type')).toMatch(/^text\/event-stream/);
  const events = eventsOf(text);
  const done = events.pop();
  expect(done).toEqual({
    type: 'speech.audio.done',
    usage: { billing_unit: 'character', units_consumed: 10, total_spend: 0.000008 },
  });
  expect(events.length).toBeGreaterThan(0);
  for (const { type } of events) expect(type).toBe('speech.audio.delta');
  const audio = Buffer.concat(events.map((event) => Buffer.from(String(event.audio), 'base64')));
  expect(audio.equals(whole.bytes)).toBe(true);
});

row('media.speech.voices', async () => {
  const caller = await aCaller();
  const ask = (input: string, voice: string) => caller.post(SPEAK, aSpeech({ input, voice }));
  const [named, aliased] = [aPrompt(), aPrompt()];
  expect((await ask(named, 'ada')).status).toBe(200);
  expect((await ask(aliased, 'alloy')).status).toBe(200);
  const sent = (await listSentFields(stack)).filter(({ input }) => input === named || input === aliased);
  expect(sent.map(({ voice }) => voice)).toEqual(['ada', 'ada']);
  expect(await ask('hi', 'nova')).toMatchObject({
    status: 422,
    body: flat('invalid_request_body', { param: 'voice' }),
  });
});

row('media.speech.broken', async () => {
  const caller = await aCaller();
  // The engine, which streams, has sent the half of it a second before it fails. A half and a failure that are read at once are a 500.
  await orderMediaBackends(stack, 'config', { model: MODELS.speech, body: { renderBaseMs: 2_000 } });
  const reading = whileBackendsFail(stack, MODELS.speech, 'render_fails', () => caller.post(SPEAK, aSpeech()));
  await expect(reading)
    .rejects.toThrow()
    .finally(() => orderMediaBackends(stack, 'config', { model: MODELS.speech, body: QUICK }));
  await expectSpent(caller, 0n);
});

row('media.speech.async', async () => {
  const caller = await aCaller();
  const job = await made(caller, SPEAK, aSpeech({ async: true }));
  expect(job).toMatchObject({ object: 'audio.job', operation: 'audio.speech', data: null });
  const { headers, bytes } = await caller.get(`${pathOf(job)}/content`);
  expect(headers.get('content-type')).toBe('audio/wav');
  expect(headers.get('content-length')).toBe(String(bytes.length));
  expect(startOf(bytes)).toMatch(SIGNATURES.wav ?? /$^/);
  expect(bytes.readUInt32LE(4)).toBe(bytes.length - 8);
  const samples = bytes.indexOf('data') + 8;
  expect(bytes.readUInt32LE(samples - 4)).toBe(bytes.length - samples);
  const flac = await made(caller, SPEAK, aSpeech({ response_format: 'flac', async: true }));
  const { bytes: lossless } = await caller.get(`${pathOf(flac)}/content`);
  // A sample of the WAV has two bytes.
  expect(Number(lossless.readBigUInt64BE(18) & (2n ** 36n - 1n))).toBe((bytes.length - samples) / 2);
});

/** Returns the transcript of a file. */
async function transcriptOf(caller: Client, file: Buffer, fields: Record<string, string> = {}): Promise<string> {
  const { status, text } = await caller.post(TRANSCRIBE, aRecording({ response_format: 'text', ...fields }, file));
  expect({ status, text }).toMatchObject({ status: 200 });
  return text;
}

row('media.transcripts.heard', async () => {
  const caller = await aCaller();
  const input = 'the old bridge, en été';
  for (const format of ['wav', 'mp3', 'opus', 'flac']) {
    const { bytes } = await caller.post(SPEAK, aSpeech({ input, response_format: format }));
    expect({ format, text: await transcriptOf(caller, bytes) }).toEqual({ format, text: `${input}\n` });
  }
});

row('media.transcripts.formats', async () => {
  const caller = await aCaller();
  const { bytes } = await caller.post(SPEAK, aSpeech({ input: 'two small boats wait' }));
  const ask = (format?: string) =>
    caller.post(TRANSCRIBE, aRecording(format === undefined ? {} : { response_format: format }, bytes));
  for (const format of [undefined, 'json']) {
    const { headers, body } = await ask(format);
    expect(headers.get('content-type')).toMatch(/^application\/json/);
    expect(body).toMatchObject({ text: 'two small boats wait' });
  }
  const time = '\\d\\d:\\d\\d:\\d\\d';
  for (const [format, type, shape] of [
    ['text', /^text\/plain/, /^two small boats wait\n$/],
    ['srt', /subrip|text\/plain/, new RegExp(`^1\n${time},\\d{3} --> ${time},\\d{3}\ntwo small`)],
    ['vtt', /^text\/vtt/, new RegExp(`^WEBVTT\n\n${time}\\.\\d{3} --> ${time}\\.\\d{3}\ntwo small`)],
  ] as const) {
    const { headers, text } = await ask(format);
    expect(headers.get('content-type')).toMatch(type);
    expect(text).toMatch(shape);
  }
  const { body } = await ask('verbose_json');
  expect(body).toMatchObject({
    task: 'transcribe',
    language: 'english',
    duration: expect.any(Number),
    text: 'two small boats wait',
    segments: [
      {
        id: 0,
        seek: 0,
        start: 0,
        end: expect.any(Number),
        text: expect.stringContaining('two small'),
        tokens: [expect.any(Number)],
        temperature: 0,
        avg_logprob: -0.25,
        compression_ratio: 1.25,
        no_speech_prob: 0,
      },
    ],
  });
});

row('media.transcripts.usage', async () => {
  const caller = await aCaller();
  for (const [seconds, heard] of [
    [1, 1],
    [1.25, 2],
    [61, 61],
  ] as const) {
    for (const format of ['json', 'verbose_json']) {
      const form = aRecording({ response_format: format }, aWav({ seconds, rate: 8_000 }));
      expect((await caller.post(TRANSCRIBE, form)).body).toMatchObject({ usage: { type: 'duration', seconds: heard } });
    }
  }
});

row('media.transcripts.granularities', async () => {
  const caller = await aCaller();
  const form = aRecording({ response_format: 'verbose_json' }, aWav({ seconds: 11 }));
  form.append('timestamp_granularities[]', 'segment');
  const { body } = await caller.post(TRANSCRIBE, form);
  const { segments, ...others } = body as { segments: { start: number; end: number }[] };
  expect(others).not.toHaveProperty('words');
  expect(segments.length).toBeGreaterThan(1);
  for (const [index, { start, end }] of segments.entries()) {
    expect(end).toBeGreaterThanOrEqual(start);
    expect(start).toBeGreaterThanOrEqual(segments[index - 1]?.start ?? 0);
  }
  await expectSpent(caller, (11n * PRICES.minute) / 60n);
  form.append('timestamp_granularities[]', 'word');
  for (const isAsync of [false, true]) {
    if (isAsync) form.append('async', 'true');
    expect(await caller.post(TRANSCRIBE, form)).toMatchObject({
      status: 422,
      body: flat('invalid_request_body', { param: 'timestamp_granularities[]' }),
    });
  }
  await expectSpent(caller, (11n * PRICES.minute) / 60n);

  const { bytes } = await caller.post(SPEAK, aSpeech({ input: 'two small boats wait' }));
  const timed = aRecording({ model: MODELS.timedTranscript, response_format: 'verbose_json' }, bytes);
  timed.append('timestamp_granularities[]', 'word');
  const { body: heard } = await caller.post(TRANSCRIBE, timed);
  const { words } = heard as { words: { word: string; start: number; end: number }[] };
  expect(words.map(({ word }) => word)).toEqual(['two', 'small', 'boats', 'wait']);
  for (const [index, { start, end }] of words.entries()) {
    expect(end).toBeGreaterThanOrEqual(start);
    expect(start).toBeGreaterThanOrEqual(words[index - 1]?.start ?? 0);
  }
});

row('media.transcripts.language', async () => {
  const caller = await aCaller();
  for (const [language, sent, shown] of [
    ['de', 'de', 'german'],
    ['deu', 'de', 'german'],
    ['en-US', 'en', 'english'],
    ['yue', 'yue', 'cantonese'],
    ['jv', 'jw', 'javanese'],
    ['auto', undefined, 'english'],
    ['', undefined, 'english'],
  ] as const) {
    const prompt = aPrompt();
    const { status, body } = await caller.post(
      TRANSCRIBE,
      aRecording({ language, prompt, response_format: 'verbose_json' }),
    );
    expect({ status, body }).toMatchObject({ status: 200, body: { language: shown } });
    const asked = (await listSentFields(stack)).filter((fields) => fields.prompt === prompt);
    expect(asked.map((fields) => fields.language)).toEqual([sent]);
  }
  expect(await caller.post(TRANSCRIBE, aRecording({ language: 'fr' }))).toMatchObject({
    status: 422,
    body: flat('invalid_request_body', { param: 'language' }),
  });
});

row('media.transcripts.stream', async () => {
  const caller = await aCaller();
  const { headers, text } = await caller.post(TRANSCRIBE, aRecording({ stream: 'true' }, aWav({ seconds: 11 })));
  expect(headers.get('content-type')).toMatch(/^text\/event-stream/);
  const events = eventsOf(text);
  const done = events.pop();
  expect(done).toMatchObject({ type: 'transcript.text.done', usage: { type: 'duration', seconds: 11 } });
  // In one piece where the engine gave no times: it is asked for them only where they are shown.
  expect(events.length).toBeGreaterThan(0);
  expect(events.map(({ delta }) => delta).join('')).toBe(done?.text);
});

row('media.transcripts.translation', async () => {
  const caller = await aCaller();
  const ask = (format: string) => caller.post('/audio/translations', aRecording({ response_format: format }));
  const { body: json } = await ask('json');
  expect(json).toEqual({ text: expect.stringMatching(/./) });
  const { body: verbose } = await ask('verbose_json');
  expect(verbose).toMatchObject({ task: 'translate', language: 'english', segments: expect.any(Array) });
  for (const format of ['text', 'srt', 'vtt'])
    expect(await ask(format)).toMatchObject({ status: 200, text: expect.stringMatching(/\w/) });
});

row('media.transcripts.async', async () => {
  const caller = await aCaller();
  const { bytes } = await caller.post(SPEAK, aSpeech({ input: 'evening light' }));
  for (const [format, type, text] of [
    ['vtt', 'text/vtt', /^WEBVTT[\s\S]*evening light/],
    ['json', 'application/json', /^\{"text":"evening light"/],
  ] as const) {
    const job = await made(caller, TRANSCRIBE, aRecording({ async: 'true', response_format: format }, bytes));
    expect(job).toMatchObject({ object: 'audio.job', operation: 'audio.transcriptions', data: null });
    const content = await caller.get(`${pathOf(job)}/content`);
    expect(content.headers.get('content-type')).toContain(type);
    expect(content.text).toMatch(text);
  }
});
