import { mkdir, rm } from 'node:fs/promises';
import { request as httpRequest } from 'node:http';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { UsageRecorded } from '@turnpike/events/usageRecorded';
import type { KeyRecord } from '@turnpike/internal-api/keyRecord';
import { until } from '@turnpike/test-support/until';
import { anEarModel, aSpeechModel } from './aMediaModel.ts';
import { type AudioService, LOOK_UPS_PER_SECOND, serveAudio } from './serveAudio.ts';

// Speech and speech-to-text over HTTP: real money, and simulated engines whose speech can be written down again.

const SPEECH = '/v1/audio/speech';
const TRANSCRIPTIONS = '/v1/audio/transcriptions';
const INPUT = 'Hello, world: twenty-four bytes or more of them.'; // 48 code points, 3.12 s
const SPEECH_CHARGE = 48n * 800n;
const CREDIT = 10n ** 9n;

let service: AudioService;
let key: KeyRecord;
/** Two replicas of one voice that makes no AAC, one of a voice that does, and one that listens. */
beforeAll(async () => {
  service = await serveAudio(
    [
      ['vllm-omni-2026', 'vllm-omni', 'small-voice'],
      ['vllm-omni-2026', 'vllm-omni', 'small-voice'],
      ['kokoro', 'kokoro', 'kokoro'],
      ['vllm-asr', 'vllm-asr', 'small-ear'],
    ],
    [
      aSpeechModel(),
      aSpeechModel({ id: 'kokoro' }),
      aSpeechModel({ id: 'unpriced', media: { unitPrice: null } }),
      anEarModel({ media: { capabilities: { maxMinutes: 1 } } }),
    ],
  );
});
afterAll(() => service.close());
beforeEach(async () => {
  key = await service.money.fund(CREDIT);
  service.useKey(key);
});
afterEach(async () => {
  for (const replica of service.replicas) await replica.clearFaults();
});

const speech = (fields: object = {}) => ({ model: 'small-voice', input: INPUT, voice: 'emma', ...fields });
const endOf = (): Promise<UsageRecorded> =>
  until('the call has ended', () => service.money.recorded.find(({ keyId }) => keyId === key.keyId));
const nothingRan = async (): Promise<void> => {
  expect(service.money.recorded.some(({ keyId }) => keyId === key.keyId)).toBe(false);
  expect(await service.money.opened.walletOf(key.workspace.workspaceId)).toMatchObject({ held: 0n, ended: 0n });
};
const onVoices = async (...rules: Parameters<AudioService['replicas'][number]['addFaults']>): Promise<void> => {
  for (const replica of service.replicas.slice(0, 2)) await replica.addFaults(...rules);
};
const rendersOf = async (): Promise<number> => {
  const logs = await Promise.all(service.replicas.map((replica) => replica.log()));
  return logs.reduce((sum, { renders }) => sum + renders.length, 0);
};
const requestsOf = async (nth: number) => (await service.replicas[nth]?.log())?.requests ?? [];

describe('POST /v1/audio/speech', () => {
  it.each([
    ['small-voice', 'wav', 'audio/wav'],
    ['small-voice', 'aac', 'audio/aac'],
    ['kokoro', 'mp3', 'audio/mpeg'],
    ['kokoro', 'pcm', 'audio/pcm'],
  ])('speaks: %s in %s', async (model, format, type) => {
    const answer = await service.post(SPEECH, speech({ model, response_format: format }));
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, type]);
    expect(answer.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/);
    expect(answer.headers.get('x-router-call-id')).toBeNull();
    expect(answer.headers.get('x-ratelimit-limit-requests')).toBe(String(key.rpm));
    expect(answer.headers.get('x-total-spend')).toBe('0.0000384');
    expect((await answer.arrayBuffer()).byteLength).toBeGreaterThan(1_000);
    expect(await endOf()).toMatchObject({
      operation: 'audio.speech',
      canonicalModel: model,
      status: 'success',
      reason: 'completed',
      units: 48,
      chargeNanoUsd: SPEECH_CHARGE,
      holdNanoUsd: SPEECH_CHARGE,
      modality: 'audio',
      billingUnit: 'character',
      isStream: true,
    });
  });

  it('counts code points, whatever they take in the text', async () => {
    await (await service.post(SPEECH, speech({ input: '🦊 é', response_format: 'wav' }))).arrayBuffer();
    expect(await endOf()).toMatchObject({ units: 3 });
  });

  it('comes as events, with what it cost in the last one', async () => {
    const fields = { response_format: 'pcm', stream_format: 'sse' };
    const answer = await service.post(SPEECH, speech(fields));
    expect(answer.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
    const events = (await answer.text())
      .trim()
      .split('\n\n')
      .map((frame) => JSON.parse(frame.slice('data: '.length)) as { type: string; audio?: string; usage?: object });
    const audio = Buffer.concat(events.map(({ audio: part }) => Buffer.from(part ?? '', 'base64')));
    expect(audio.length).toBe(3.12 * 48_000);
    expect(new Set(events.slice(0, -1).map(({ type }) => type))).toEqual(new Set(['speech.audio.delta']));
    expect(events.at(-1)).toEqual({
      type: 'speech.audio.done',
      usage: { billing_unit: 'character', units_consumed: 48, total_spend: 0.000_038_4 },
    });
    expect(await endOf()).toMatchObject({ status: 'success', chargeNanoUsd: SPEECH_CHARGE });
  });

  it.each(['audio', 'sse'])('is cut where its backend breaks off, and costs nothing: %s', async (stream_format) => {
    await onVoices({ match: { route: 'POST /v1/audio/speech' }, fault: 'body_reset', afterBytes: 40_000 });
    const answer = await service.post(SPEECH, speech({ response_format: 'pcm', stream_format }));
    expect(answer.status).toBe(200);
    await expect(answer.text()).rejects.toThrow();
    expect(await endOf()).toMatchObject({ status: 'failure', units: 0, chargeNanoUsd: 0n });
  });

  it('is aborted when its client leaves, and costs all of it once audio went out', async () => {
    const leaving = new AbortController();
    for (const replica of service.replicas.slice(0, 2)) await replica.configure({ renderBaseMs: 5_000 });
    const answer = await service.post(SPEECH, speech({ response_format: 'pcm' }), leaving.signal);
    await answer.body?.getReader().read();
    for (const replica of service.replicas.slice(0, 2)) await replica.configure({ renderBaseMs: 0 });
    leaving.abort();
    expect(await endOf()).toMatchObject({ status: 'success', reason: 'client_left', chargeNanoUsd: SPEECH_CHARGE });
    await until('the backend is let go', async () => {
      const all = [...(await requestsOf(0)), ...(await requestsOf(1))];
      return all.some(({ state }) => state === 'aborted');
    });
  });

  it('costs nothing where its client leaves before', async () => {
    const leaving = new AbortController();
    await onVoices({ match: { route: 'POST /v1/audio/speech' }, fault: 'never_answers' });
    const answer = service.post(SPEECH, speech(), leaving.signal);
    const before = service.money.callBook.size;
    await until('it is under way', () => service.money.callBook.size > before || service.money.callBook.size > 0);
    leaving.abort();
    await expect(answer).rejects.toThrow();
    expect(await endOf()).toMatchObject({ status: 'failure', reason: 'client_left', chargeNanoUsd: 0n });
  });

  it.each(['refuse_503', 'reset_before_answer'] as const)(
    'is spoken by another replica where one does %s',
    async (fault) => {
      await service.replicas[0]?.addFaults({ match: { route: 'POST /v1/audio/speech' }, fault });
      for (let nth = 0; nth < 2; nth += 1)
        expect((await service.post(SPEECH, speech({ response_format: 'wav' }))).status).toBe(200);
    },
  );

  it.each<[Parameters<typeof onVoices>[0]['fault'], number, string, Record<string, string>]>([
    ['refuse_503_retry_after', 503, 'backend_unavailable', { 'retry-after': expect.any(String) as never }],
    ['refuse_500', 500, 'generation_failed', { 'x-should-retry': 'false' }],
    ['html_with_200', 500, 'generation_failed', { 'x-should-retry': 'false' }],
    ['output_empty', 500, 'generation_failed', { 'x-should-retry': 'false' }],
  ])('says what comes of a backend that does %s, and charges nothing', async (fault, status, error, headers) => {
    await onVoices({ match: { route: 'POST /v1/audio/speech' }, fault });
    const answer = await service.post(SPEECH, speech({ response_format: 'wav' }));
    expect([answer.status, ((await answer.json()) as { error: string }).error]).toEqual([status, error]);
    expect(Object.fromEntries(Object.keys(headers).map((name) => [name, answer.headers.get(name)]))).toEqual(headers);
    expect(await endOf()).toMatchObject({ status: 'failure', chargeNanoUsd: 0n });
  });

  it('that this machine has no file for leaves its replica to the calls behind it', async () => {
    await rm(service.mediaFolder, { recursive: true });
    const ask = () => service.post(SPEECH, speech({ response_format: 'wav' }));
    // One call more than the replicas have slots.
    const answers = await Promise.all(Array.from({ length: 5 }, ask));
    await mkdir(service.mediaFolder);
    expect(answers.map(({ status }) => status)).toEqual([500, 500, 500, 500, 500]);
    expect((await ask()).status).toBe(200);
  });

  it('says which field an engine does not take', async () => {
    // A voice that the catalog promises.
    const answer = await service.post(SPEECH, speech({ voice: 'adam' }));
    expect([answer.status, await answer.json()]).toMatchObject([422, { param: 'voice' }]);
    expect(await endOf()).toMatchObject({ status: 'failure', reason: 'backend_refused', chargeNanoUsd: 0n });
  });

  it.each([
    ['a model that nobody knows', speech({ model: 'nobody' }), 404],
    ['a model without a backend here, priced or not', speech({ model: 'unpriced' }), 404],
    ['a model that listens', speech({ model: 'small-ear' }), 422],
    ['a voice that the model has not', speech({ voice: 'nobody' }), 422],
    ['a field that nobody knows', speech({ lora: 'x' }), 422],
    ['no JSON', new FormData(), 400],
  ])('refuses %s, and asks no backend', async (_what, body, status) => {
    const renders = await rendersOf();
    const answer = await service.post(SPEECH, body);
    expect(answer.status).toBe(status);
    expect(await rendersOf()).toBe(renders);
    await nothingRan();
  });

  it('refuses what the balance does not carry, and asks no backend', async () => {
    service.useKey(await service.money.fund(SPEECH_CHARGE - 1n));
    const renders = await rendersOf();
    const answer = await service.post(SPEECH, speech());
    expect([answer.status, await answer.json()]).toMatchObject([
      402,
      { error: 'insufficient_balance', max_usage_cost_usd: 0.000_038_4, limited_by: 'credit' },
    ]);
    expect(await rendersOf()).toBe(renders);
  });

  it('refuses further calls of a key after many bytes of bodies that were refused, and takes those of another', async () => {
    const post = () => service.post(SPEECH, speech({ input: 'a'.repeat(1_000_000) }));
    const answers = await Promise.all(Array.from({ length: 20 }, post));
    // All of them may have been read before any was refused.
    answers.push(await post());
    expect(answers.filter(({ status }) => status === 422).length).toBeGreaterThan(8);
    const refused = answers.find(({ status }) => status === 429);
    expect(await refused?.json()).toMatchObject({ error: 'rate_limit_exceeded' });
    expect(refused?.headers.get('retry-after')).toMatch(/^\d$/);
    service.useKey(await service.money.fund(CREDIT));
    expect((await service.post(SPEECH, speech({ response_format: 'wav' }))).status).toBe(200);
  });

  it('becomes a job where that is asked for', async () => {
    const answer = await service.post(SPEECH, speech({ async: true }));
    expect([answer.status, await answer.json()]).toMatchObject([202, { object: 'audio.job', status: 'queued' }]);
    expect(service.made.at(-1)).toMatchObject({ unitsBound: 48, billingUnit: 'character', isHidden: false });
    expect(service.made.at(-1)?.hold.holdNanoUsd).toBe(SPEECH_CHARGE);
  });
});

it('takes repeats of a call that makes a job for look-ups of its key: the 51st at once is refused', async () => {
  const repeat = () => service.post(SPEECH, speech({ async: true }), undefined, { 'x-stainless-retry-count': '1' });
  for (let nth = 0; nth < 2 * LOOK_UPS_PER_SECOND; nth += 1) expect((await repeat()).status).toBe(202);
  const answer = await repeat();
  expect([answer.status, await answer.json()]).toMatchObject([429, { error: 'rate_limit_exceeded' }]);
  expect(answer.headers.get('retry-after')).toBe('1');
  expect((await service.post(SPEECH, speech({ async: true }))).status).toBe(202);
});

describe('POST /v1/audio/transcriptions', () => {
  let recording: Buffer;
  beforeAll(async () => {
    service.useKey(await service.money.fund(CREDIT));
    const answer = await service.post(SPEECH, speech({ response_format: 'wav' }));
    recording = Buffer.from(await answer.arrayBuffer());
  });
  const upload = (fields: Record<string, string> = {}, bytes: Buffer = recording): FormData => {
    const form = new FormData();
    form.append('file', new Blob([new Uint8Array(bytes)]), 'speech.wav');
    for (const [name, value] of Object.entries({ model: 'small-ear', ...fields })) form.append(name, value);
    return form;
  };
  /** 4 s by the minute at 0.0015. */
  const CHARGE = 100_000n;

  it.each([
    ['json', 'application/json; charset=utf-8', /"text":"Hello, world.*"total_spend":0\.0001\}/],
    ['text', 'text/plain; charset=utf-8', /^Hello, world/],
    ['srt', 'application/x-subrip; charset=utf-8', /^1\n00:00:00,000 --> /],
    ['vtt', 'text/vtt; charset=utf-8', /^WEBVTT\n\n00:00:00\.000 --> /],
    ['verbose_json', 'application/json; charset=utf-8', /"duration":3\.12/],
  ])('writes down what was said, in %s, and charges the seconds that were heard', async (format, type, body) => {
    const answer = await service.post(TRANSCRIPTIONS, upload({ response_format: format }));
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, type]);
    expect(await answer.text()).toMatch(body);
    expect(answer.headers.get('x-total-spend')).toBe('0.0001');
    expect(await endOf()).toMatchObject({
      operation: 'audio.transcriptions',
      status: 'success',
      units: 4,
      billingUnit: 'minute',
      chargeNanoUsd: CHARGE,
      holdNanoUsd: CHARGE,
    });
  });

  it('translates, and comes as events where that is asked for', async () => {
    expect((await service.post('/v1/audio/translations', upload())).status).toBe(200);
    expect(await endOf()).toMatchObject({ operation: 'audio.translations', units: 4 });
    const answer = await service.post(TRANSCRIPTIONS, upload({ stream: 'true' }));
    expect(answer.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
    expect(await answer.text()).toMatch(/"type":"transcript.text.done","text":"Hello, world.*"seconds":4/);
  });

  it('is finished and charged though its client leaves', async () => {
    const leaving = new AbortController();
    await service.replicas[3]?.configure({ renderBaseMs: 300 });
    const answer = service.post(TRANSCRIPTIONS, upload(), leaving.signal);
    await until('it is under way', () => service.money.callBook.size > 0);
    leaving.abort();
    await expect(answer).rejects.toThrow();
    expect(await endOf()).toMatchObject({ status: 'success', reason: 'client_left', chargeNanoUsd: CHARGE });
    await service.replicas[3]?.configure({ renderBaseMs: 0 });
  });

  it('costs nothing where the engine fails, and asks for no times that it has not', async () => {
    await service.replicas[3]?.addFaults({ match: { route: 'POST /v1/audio/transcriptions' }, fault: 'refuse_500' });
    expect((await service.post(TRANSCRIPTIONS, upload())).status).toBe(500);
    expect(await endOf()).toMatchObject({ status: 'failure', reason: 'backend_failed', chargeNanoUsd: 0n });
  });

  it.each([
    ['nothing', Buffer.alloc(0)],
    ['no recording', Buffer.from('<html>nothing to hear</html>')],
    ['a recording longer than the model takes', aSilence(61)],
  ])('refuses %s, and holds nothing', async (_what, bytes) => {
    const answer = await service.post(TRANSCRIPTIONS, upload({}, bytes));
    expect([answer.status, await answer.json()]).toMatchObject([422, { error: 'invalid_request_body', param: 'file' }]);
    await nothingRan();
  });

  it('refuses a recording that lasts longer than its key can pay for, by what the longest one could cost', async () => {
    key = await service.money.fund(CHARGE - 1n);
    Object.assign(service.money.ledger.booksOf(key.workspace.workspaceId), { seq: 1, leftNanoUsd: CHARGE - 1n });
    service.useKey(key);
    const answer = await service.post(TRANSCRIPTIONS, upload());
    expect([answer.status, await answer.json()]).toMatchObject([
      402,
      { error: 'insufficient_balance', max_usage_cost_usd: 0.0015, limited_by: 'credit' },
    ]);
    await nothingRan();
  });

  it('refuses further uploads of a key after much decoding in vain, and takes those of another', async () => {
    const broken = Buffer.concat([Buffer.from('fLaC\0\0\0\x22', 'latin1'), Buffer.alloc(34)]);
    const answers = [];
    do {
      const answer = await service.post(TRANSCRIPTIONS, upload({}, broken));
      answers.push({ status: answer.status, retryAfter: answer.headers.get('retry-after'), body: await answer.json() });
    } while (answers.length < 60 && answers.at(-1)?.status === 422);
    expect(answers.length).toBeGreaterThan(5);
    expect(answers.at(-1)).toMatchObject({
      status: 429,
      retryAfter: expect.stringMatching(/^\d+$/),
      body: { error: 'rate_limit_exceeded' },
    });
    expect((await service.post(TRANSCRIPTIONS, upload())).status).toBe(429);
    service.useKey(await service.money.fund(CREDIT));
    expect((await service.post(TRANSCRIPTIONS, upload())).status).toBe(200);
  });

  it.each<[string, Parameters<TestMoneyFund>[1], bigint, string]>([
    ['an account on hold', { workspace: { billingStatus: 'on_hold' } }, CREDIT, 'account_on_hold'],
    ['a key without a second’s worth', {}, 24_999n, 'insufficient_balance'],
  ])('refuses %s before its upload is read', async (_who, fields, left, error) => {
    key = await service.money.fund(left, fields);
    Object.assign(service.money.ledger.booksOf(key.workspace.workspaceId), { seq: 1, leftNanoUsd: left });
    service.useKey(key);
    const { status, body } = await new Promise<{ status: number | undefined; body: string }>((resolve, reject) => {
      const headers = { 'content-type': 'multipart/form-data; boundary=b', 'content-length': 20_000_000 };
      const sent = httpRequest(service.url + TRANSCRIPTIONS, { method: 'POST', headers }, (answer) => {
        let text = '';
        answer.on('data', (chunk) => {
          text += chunk;
        });
        answer.on('end', () => {
          resolve({ status: answer.statusCode, body: text });
          sent.destroy();
        });
      });
      sent.once('error', reject);
      sent.flushHeaders();
    });
    expect([status, JSON.parse(body)]).toMatchObject([402, { error }]);
    await nothingRan();
  });

  it('becomes a job of the seconds that were heard', async () => {
    const answer = await service.post(TRANSCRIPTIONS, upload({ async: 'true' }));
    expect(answer.status).toBe(202);
    expect(service.made.at(-1)).toMatchObject({ unitsBound: 4, billingUnit: 'minute' });
  });
});
type TestMoneyFund = AudioService['money']['fund'];

/** A WAV of so many seconds. */
function aSilence(seconds: number): Buffer {
  const samples = Buffer.alloc(seconds * 16_000);
  const header = Buffer.alloc(44);
  header.write('RIFF', 0);
  header.writeUInt32LE(36 + samples.length, 4);
  header.write('WAVEfmt ', 8);
  header.writeUInt32LE(16, 16);
  header.writeUInt16LE(1, 20);
  header.writeUInt16LE(1, 22);
  header.writeUInt32LE(8_000, 24);
  header.writeUInt32LE(16_000, 28);
  header.writeUInt16LE(2, 32);
  header.writeUInt16LE(16, 34);
  header.write('data', 36);
  header.writeUInt32LE(samples.length, 40);
  return Buffer.concat([header, samples]);
}
