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
const SECONDS = 6.12; // 0.24, and 0.06 for each of 98 bytes

const recordings = new Map<string, Promise<Blob>>();

/** Returns a recording of speech as a file. Each format is encoded once. */
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
  it('said how long it is in a text once', async () => {
    replica = await startTestReplica('vllm-asr', { durationForm: 'text' });
    expect(await (await send({ response_format: 'verbose_json' })).json()).toMatchObject({ duration: String(SECONDS) });
  });
});

describe('Speaches', () => {
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
