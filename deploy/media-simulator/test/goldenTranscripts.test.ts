import { readFile, writeFile } from 'node:fs/promises';
import { expect, it } from '@jest/globals';
import { until } from '@turnpike/test-support/until';
import { encodeAudio } from '../src/outputs/encodeAudio.ts';
import { speak } from '../src/outputs/tones.ts';
import type { Personality } from '../src/personalities/personality.ts';
import { PERSONALITIES, type PersonalityName } from '../src/personalities.ts';
import { MODEL, startTestReplica, type TestReplica } from './support/testReplica.ts';

const TEXT = 'Good morning';
const IMAGE = { model: MODEL, prompt: 'a fox', size: '16x16', seed: 1 };
const CLIP = { model: MODEL, prompt: 'a fox', size: '64x48', seconds: '2' };
/** Only the kind of binary bodies and of base64 is kept, because encoders differ in bytes. Ids are random. */
const HIDDEN = ['date', 'content-length', 'keep-alive', 'transfer-encoding'];

/**
 * Golden answers of each personality, so that a change of its wire format is seen. To accept a change, run this test with
 * `UPDATE_GOLDEN=1` and review the difference.
 */
it.each(Object.keys(PERSONALITIES) as PersonalityName[])('%s answers as it did', async (name) => {
  const replica = await startTestReplica(name, { clock: 'virtual', renderBaseMs: 1_000 });
  try {
    const { images, videos, speech, transcriptions }: Personality = PERSONALITIES[name];
    const transcripts = [await transcribe('GET /v1/models', () => replica.get('/v1/models'))];
    if (images) transcripts.push(...(await imagesOf(replica)));
    if (videos) transcripts.push(...(await videosOf(replica)));
    if (speech) transcripts.push(...(await speechOf(replica)));
    if (transcriptions) transcripts.push(...(await transcriptionsOf(replica)));
    await expectGolden(`${name}.txt`, transcripts.join('\n\n\n'));
  } finally {
    await replica.close();
  }
});

/** Sends what waits for a render, and lets the time pass that it takes. */
async function rendered(replica: TestReplica, send: () => Promise<Response>): Promise<Response> {
  const before = (await replica.log()).requests.length;
  const response = send();
  await until('a render, or its refusal', async () => {
    const { requests } = await replica.log();
    return (await replica.state()).running.length > 0 || typeof requests[before]?.endedAt === 'number';
  });
  await replica.admin('advance', { ms: 1_000 });
  return response;
}

async function imagesOf(replica: TestReplica): Promise<string[]> {
  const path = '/v1/images/generations';
  const send = (title: string, fields: object) =>
    transcribe(`POST ${path} ${title}`, () => rendered(replica, () => replica.postJson(path, fields)));
  return [
    await send('as base64', { ...IMAGE, response_format: 'b64_json' }),
    await send('with what is default', IMAGE),
    await send('without a prompt', { model: MODEL }),
  ];
}

async function videosOf(replica: TestReplica): Promise<string[]> {
  const path = '/v1/videos';
  const create = () => replica.postForm(path, CLIP);
  const ids: string[] = [];
  const lookAt = (title: string, at: number, suffix = '') =>
    transcribe(`GET ${path}/{id}${suffix} ${title}`, () => replica.get(`${path}/${ids[at]}${suffix}`));
  await replica.addFaults({ fault: 'render_fails', match: { nth: 2 } });
  const created = await transcribe(`POST ${path}`, async () => {
    const response = await create();
    ids.push(((await response.clone().json()) as { id: string }).id);
    return response;
  });
  ids.push(((await (await create()).json()) as { id: string }).id);
  const running = await lookAt('while it runs', 0);
  const early = await lookAt('while it runs', 0, '/content');
  const finish = async () => {
    const { length } = (await replica.state()).jobs.filter(({ completedAt }) => completedAt !== null);
    await until('a render', async () => (await replica.state()).running.length > 0);
    await replica.admin('advance', { ms: 1_000 });
    await until('a job', async () => {
      return (await replica.state()).jobs.filter(({ completedAt }) => completedAt !== null).length > length;
    });
  };
  await finish();
  await finish();
  return [
    created,
    running,
    early,
    await lookAt('when it is done', 0),
    await lookAt('when it is done', 0, '/content'),
    await lookAt('when it has failed', 1),
    await lookAt('when it has failed', 1, '/content'),
    await transcribe(`GET ${path}`, () => replica.get(`${path}?limit=1&order=asc`)),
    await transcribe(`DELETE ${path}/{id}`, () => replica.delete(`${path}/${ids[0]}`)),
    await lookAt('when it is gone', 0),
    await transcribe(`POST ${path} without a prompt`, () => replica.postForm(path, { seconds: '2' })),
  ];
}

async function speechOf(replica: TestReplica): Promise<string[]> {
  const path = '/v1/audio/speech';
  const { knobs } = (await replica.state()) as unknown as { knobs: { voices: string[] } };
  const request = { model: MODEL, input: TEXT, voice: knobs.voices[0], response_format: 'wav' };
  const send = (title: string, fields: object) =>
    transcribe(`POST ${path} ${title}`, () =>
      rendered(replica, () => replica.postJson(path, { ...request, ...fields })),
    );
  return [
    await send('as it comes', {}),
    await send('as events', { stream_format: 'sse', response_format: 'pcm', input: 'Hi' }),
    await send('with another voice', { voice: 'nobody' }),
    await send('at another speed', { speed: 'fast' }),
  ];
}

async function transcriptionsOf(replica: TestReplica): Promise<string[]> {
  const wav = await encodeAudio(speak(TEXT, { speed: 1, loudness: 8_000 }), 'wav', { isStreamed: false });
  const file = new Blob([Uint8Array.from(wav)], { type: 'audio/wav' });
  const send = (title: string, fields: Record<string, string | Blob>, path = '/v1/audio/transcriptions') =>
    transcribe(`POST ${path} ${title}`, () =>
      rendered(replica, () => replica.postForm(path, { model: MODEL, file, ...fields })),
    );
  return [
    await send('as json', {}),
    await send('as text', { response_format: 'text' }),
    await send('as verbose_json', { response_format: 'verbose_json' }),
    await send('as srt', { response_format: 'srt' }),
    await send('as vtt', { response_format: 'vtt' }),
    await send('as a stream', { stream: 'true' }),
    await send('as json', {}, '/v1/audio/translations'),
    await send('of no audio', { file: new Blob(['<html>']) }),
    await send('of a text', { file: 'text' }),
  ];
}

/** A request's title, then its answer: status, headers, an empty line, the body. */
async function transcribe(title: string, send: () => Promise<Response>): Promise<string> {
  const response = await send();
  const headers = [...response.headers].filter(([header]) => !HIDDEN.includes(header)).map((pair) => pair.join(': '));
  const isText = /json|text/.test(response.headers.get('content-type') ?? '');
  const body = isText ? withoutChance(await response.text()) : '(bytes)';
  if (!isText) await response.body?.cancel();
  return `## ${title}\n${response.status}\n${withoutChance(headers.join('\n'))}\n\n${body}`;
}

const withoutChance = (text: string): string =>
  text
    .replace(/("(?:b64_json|audio)":")[^"]+/g, (_match, start: string) => `${start}(base64)`)
    .replace(/[0-9a-f-]{16,36}/g, '(id)');

async function expectGolden(name: string, text: string): Promise<void> {
  const file = new URL(`golden/${name}`, import.meta.url);
  if (process.env.UPDATE_GOLDEN === '1') await writeFile(file, `${text}\n`);
  expect(`${text}\n`).toBe(await readFile(file, 'utf8'));
}
