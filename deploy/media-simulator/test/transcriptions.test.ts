import { afterEach, describe, expect, it } from '@jest/globals';
import { until } from '@turnpike/test-support/until';
import { encodeAudio } from '../src/outputs/encodeAudio.ts';
import { speak } from '../src/outputs/tones.ts';
import type { PersonalityName } from '../src/personalities.ts';
import { MODEL, startTestReplica, type TestReplica } from './support/testReplica.ts';

let replica: TestReplica;
afterEach(() => replica.close());

const PATH = '/v1/audio/transcriptions';
const TEXT = 'The quick brown fox jumps over the lazy dog, and nobody has seen why it should do so at all, ever.';
/** vLLM puts a space between segments that begin with one. */
const TEXT_OF_SEGMENTS = expect.stringMatching(/^ The quick .+[^ ] {2}[^ ].* ever\.$/);
const SECONDS = 6.12; // 0.24, and 0.06 for each of 98 bytes

const recordings = new Map<string, Promise<Blob>>();

/** What somebody says, in a file; each is encoded once. */
function aRecording(format: 'wav' | 'flac' | 'mp3' | 'opus' = 'flac'): Promise<Blob> {
  const recording = recordings.get(format) ?? record(format);
  recordings.set(format, recording);
  return recording;
}

async function record(format: 'wav' | 'flac' | 'mp3' | 'opus'): Promise<Blob> {
  const bytes = await encodeAudio(speak(TEXT, { speed: 1, loudness: 8_000 }), format, { isStreamed: false });
  return new Blob([Uint8Array.from(bytes)], { type: `audio/${format}` });
}

const send = async (fields: Record<string, string | Blob> = {}, path = PATH) =>
  replica.postForm(path, { file: await aRecording(), model: MODEL, ...fields });

describe('a recording', () => {
  it.each(['wav', 'flac', 'mp3', 'opus'] as const)('in %s is heard to the word and the second', async (format) => {
    replica = await startTestReplica('vllm-asr');
    const response = await send({ file: await aRecording(format) });
    const body = (await response.json()) as { text: string; usage: object };
    expect(body).toEqual({ text: TEXT, usage: { type: 'duration', seconds: 7 } });
    const { renders } = await replica.log();
    expect(renders[0]).toMatchObject({ operation: 'transcription', state: 'finished' });
    expect(Math.abs((renders[0]?.units.seconds ?? 0) - SECONDS)).toBeLessThan(format === 'mp3' ? 0.1 : 0.001);
  });

  it('that this simulator has not spoken has as many words as fit, always the same', async () => {
    replica = await startTestReplica('speaches');
    const silence = await encodeAudio(Buffer.alloc(48_000 * 2), 'wav', { isStreamed: false });
    const texts: string[] = [];
    for (let count = 0; count < 2; count += 1) {
      const response = await send({ file: new Blob([Uint8Array.from(silence)]), response_format: 'text' });
      texts.push(await response.text());
    }
    expect(texts[0]?.split(' ')).toHaveLength(5);
    expect(texts[1]).toBe(texts[0]);
  });
});

describe('vLLM', () => {
  it.each([
    ['json', { text: TEXT, usage: { type: 'duration', seconds: 7 } }],
    ['text', { text: TEXT, usage: { type: 'duration', seconds: 7 } }],
    [
      'verbose_json',
      { duration: SECONDS, language: 'de', text: TEXT_OF_SEGMENTS, words: null, segments: [{ id: 0 }, { id: 1 }] },
    ],
  ])('answers %s in JSON', async (format, expected) => {
    replica = await startTestReplica('vllm-asr');
    const response = await send({ response_format: format, language: 'de' });
    expect(response.headers.get('content-type')).toBe('application/json');
    expect(await response.json()).toMatchObject(expected);
  });

  it('said how long it is in a text once', async () => {
    replica = await startTestReplica('vllm-asr', { durationForm: 'text' });
    expect(await (await send({ response_format: 'verbose_json' })).json()).toMatchObject({ duration: String(SECONDS) });
  });

  it('has no usage for a translation', async () => {
    replica = await startTestReplica('vllm-asr');
    expect(await (await send({}, '/v1/audio/translations')).json()).toEqual({ text: TEXT });
    expect((await replica.log()).renders[0]).toMatchObject({ operation: 'translation' });
  });

  it('streams chunks like those of a chat', async () => {
    replica = await startTestReplica('vllm-asr');
    const events = (await (await send({ stream: 'true' })).text()).trim().split('\n\n');
    expect(events.at(-1)).toBe('data: [DONE]');
    const chunks = events.slice(0, -1).map((event) => JSON.parse(event.replace('data: ', '')));
    expect(chunks[0]).toMatchObject({
      object: 'transcription.chunk',
      model: MODEL,
      choices: [{ delta: {} }],
    });
    expect(chunks.map(({ choices }) => choices[0].delta.content).join('')).toBe(` ${TEXT}`);
  });

  it.each([
    ['srt', { response_format: 'srt' }, 400, { error: { message: expect.stringMatching(/only support/) } }],
    ['a verbose stream', { response_format: 'verbose_json', stream: 'true' }, 400, { error: { code: 400 } }],
    ['another model', { model: 'x' }, 404, { error: { type: 'NotFoundError', param: 'model' } }],
    ['a text as file', { file: 'text' }, 422, { error: { message: expect.stringMatching(/file-like/) } }],
    ['no audio', { file: new Blob(['<html>']) }, 400, { error: { message: expect.stringMatching(/audio data/) } }],
    ['an empty file', { file: new Blob([]) }, 400, { error: { code: 400 } }],
    [
      'a language that Whisper has not',
      { language: 'jv' },
      400,
      { error: { message: expect.stringMatching(/^Unsupported/) } },
    ],
    ['a large file', { file: new Blob(['x'.repeat(2 ** 20 + 1)]) }, 400, { error: { param: 'audio_filesize_mb' } }],
  ] as [string, Record<string, string | Blob>, number, object][])('refuses %s', async (_case, fields, status, body) => {
    replica = await startTestReplica('vllm-asr', { maxAudioMegabytes: 1 });
    const response = await send(fields);
    expect({ status: response.status, body: await response.json() }).toMatchObject({ status, body });
    expect((await replica.log()).renders).toEqual([]);
  });

  it('refuses what is too long, and a form without a file', async () => {
    replica = await startTestReplica('vllm-asr', { maxAudioSeconds: 6 });
    expect((await send()).status).toBe(400);
    const response = await replica.postForm(PATH, { model: MODEL });
    expect([response.status, await response.json()]).toMatchObject([400, { error: { param: 'body.file' } }]);
  });
});

describe('Speaches', () => {
  it.each([
    ['json', 'application/json', JSON.stringify({ text: TEXT })],
    ['text', 'text/plain; charset=utf-8', TEXT],
    ['srt', 'text/plain; charset=utf-8', expect.stringMatching(/^1\n00:00:00,000 --> 00:00:03,\d+\n The .*\n\n2\n/)],
    ['vtt', 'text/vtt; charset=utf-8', expect.stringMatching(/^WEBVTT\n\n00:00:00\.000 --> 00:00:03\.\d+\n The /)],
  ])('answers %s', async (format, contentType, expected) => {
    replica = await startTestReplica('speaches');
    const response = await send({ response_format: format });
    expect(response.headers.get('content-type')).toBe(contentType);
    expect(await response.text()).toEqual(expected);
  });

  it.each([[['word']], [['segment', 'word']], [['word', 'segment']]])(
    'answers verbose JSON, with words where %j are wanted',
    async (granularities) => {
      replica = await startTestReplica('speaches');
      const form = new FormData();
      for (const [name, value] of Object.entries({ model: MODEL, response_format: 'verbose_json' }))
        form.append(name, value);
      for (const granularity of granularities) form.append('timestamp_granularities[]', granularity);
      form.append('file', await aRecording());
      const answer = await fetch(replica.url + PATH, { method: 'POST', body: form });
      const body = (await answer.json()) as { words: object[] };
      expect(body).toMatchObject({ task: 'transcribe', duration: SECONDS, segments: [{ start: 0 }, { end: SECONDS }] });
      expect(body.words).toHaveLength(TEXT.split(' ').length);
    },
  );

  it('has no words where segments alone are wanted, and refuses times of anything else', async () => {
    replica = await startTestReplica('speaches');
    const ask = (granularity: string) =>
      send({ response_format: 'verbose_json', 'timestamp_granularities[]': granularity });
    expect(await (await ask('segment')).json()).toMatchObject({ words: null });
    expect((await ask('syllable')).status).toBe(422);
  });

  it('streams an event for each segment and no end', async () => {
    replica = await startTestReplica('speaches');
    const events = (await (await send({ stream: 'true', response_format: 'text' })).text()).trim().split('\n\n');
    expect(events.map((event) => event.replace('data: ', '')).join('')).toBe(` ${TEXT}`);
  });

  it('speaks, too, with usage that says nothing', async () => {
    replica = await startTestReplica('speaches');
    const request = { model: MODEL, input: TEXT, voice: 'af_heart', response_format: 'wav', stream_format: 'sse' };
    const events = (await (await replica.postJson('/v1/audio/speech', request)).text()).trim().split('\n\n');
    expect(JSON.parse(events.at(-1)?.replace('data: ', '') ?? '')).toEqual({
      type: 'speech.audio.done',
      token_usage: { input_tokens: 0, output_tokens: 0, total_tokens: 0 },
    });
    const spoken = await replica.postJson('/v1/audio/speech', { ...request, stream_format: 'audio' });
    const heard = await send({ file: await spoken.blob(), response_format: 'text' });
    expect(await heard.text()).toBe(TEXT);
  });

  it.each([
    ['another model', { model: 'x' }, 404, { detail: expect.stringMatching(/not installed locally/) }],
    ['no audio', { file: new Blob(['<html>']) }, 415, { detail: expect.stringMatching(/Failed to decode/) }],
    ['a text as file', { file: 'text' }, 422, { detail: [{ loc: ['body', 'file'] }] }],
    ['a language that Whisper has not', { language: 'jv' }, 422, { detail: [{ loc: ['body', 'language'] }] }],
    ['no such format', { response_format: 'x' }, 422, { detail: [{ loc: ['body', 'response_format'] }] }],
  ] as [string, Record<string, string | Blob>, number, object][])('refuses %s', async (_case, fields, status, body) => {
    replica = await startTestReplica('speaches');
    const response = await send(fields);
    expect({ status: response.status, body: await response.json() }).toMatchObject({ status, body });
  });
});

describe('a client that leaves', () => {
  it.each([
    ['vllm-asr', { rendersAborted: 1, rendersFinished: 0 }],
    ['speaches', { rendersAborted: 0, rendersFinished: 1 }],
  ] as [PersonalityName, object][])('%s: %j', async (personality, totals) => {
    replica = await startTestReplica(personality, { clock: 'virtual', renderBaseMs: 1_000 });
    const leaving = new AbortController();
    const form = new FormData();
    form.append('file', await aRecording());
    form.append('model', MODEL);
    const request = fetch(replica.url + PATH, { method: 'POST', body: form, signal: leaving.signal });
    await until('the render', async () => (await replica.log()).totals.rendersStarted === 1);
    leaving.abort();
    await expect(request).rejects.toThrow();
    await until('its leaving', async () => (await replica.log()).requests.at(-1)?.state === 'aborted');
    await replica.admin('advance', { ms: 60_000 });
    await until('its end', async () => (await replica.log()).renders[0]?.endedAt !== null);
    expect((await replica.log()).totals).toMatchObject(totals);
  });
});
