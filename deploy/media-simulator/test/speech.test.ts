import { afterEach, describe, expect, it } from '@jest/globals';
import { until } from '@turnpike/test-support/until';
import type { PersonalityName } from '../src/personalities.ts';
import { decodeSeconds, toBuffer } from './support/readMedia.ts';
import { startTestReplica, type TestReplica } from './support/testReplica.ts';

let replica: TestReplica;
afterEach(() => replica.close());

const PATH = '/v1/audio/speech';
const INPUT = 'Hello, world: twenty-four bytes or more of them.'; // 48 bytes, 3.12 s
const SECONDS = 3.12;
const rawPcm = ['-f', 's16le', '-ar', '24000', '-ac', '1'];

describe('speech', () => {
  it.each([
    ['kokoro', 'mp3', 'audio/mpeg'],
    ['kokoro', 'opus', 'audio/opus'],
    ['kokoro', 'aac', 'audio/aac'],
    ['kokoro', 'flac', 'audio/flac'],
    ['kokoro', 'wav', 'audio/wav'],
    ['kokoro', 'pcm', 'audio/pcm'],
    ['vllm-omni-2026', 'wav', 'audio/wav'],
    ['vllm-omni-2026', 'opus', 'audio/ogg'],
  ] as [PersonalityName, string, string][])('%s makes %s', async (personality, format, contentType) => {
    replica = await startTestReplica(personality);
    const response = await replica.postJson(PATH, { input: INPUT, response_format: format });
    expect([response.status, response.headers.get('content-type')]).toEqual([200, contentType]);
    const seconds = await decodeSeconds(await toBuffer(response), format === 'pcm' ? rawPcm : []);
    expect(Math.abs(seconds - SECONDS)).toBeLessThan(0.1); // codecs pad
    const { renders } = await replica.log();
    expect(renders[0]).toMatchObject({ operation: 'speech', units: { characters: 48, seconds: SECONDS } });
  });

  it('counts characters as code points, and is slower or faster', async () => {
    replica = await startTestReplica('kokoro');
    const response = await replica.postJson(PATH, { input: '🦊🦊', response_format: 'wav', speed: 2, stream: false });
    expect(await decodeSeconds(await toBuffer(response))).toBe(0.48);
    expect((await replica.log()).renders[0]?.units).toEqual({ characters: 2, seconds: 0.48 });
  });

  it('comes as it is made, from the first half second on', async () => {
    replica = await startTestReplica('vllm-omni-2026', { clock: 'virtual', renderBaseMs: 700 });
    const sent = replica.postJson(PATH, { input: INPUT, response_format: 'pcm', stream_format: 'audio' });
    const { body } = await sent;
    const reader = body?.getReader();
    await replica.admin('advance', { ms: 100 }); // one of seven pieces
    const first = await reader?.read();
    const pieceBytes = Math.ceil((SECONDS * 48_000) / 7);
    expect(first?.value?.length).toBe(pieceBytes);
    await replica.admin('advance', { ms: 600 });
    let rest = 0;
    for (;;) {
      const next = await reader?.read();
      if (!next?.value) break;
      rest += next.value.length;
    }
    expect(pieceBytes + rest).toBe(SECONDS * 48_000);
  });

  it('of vLLM-Omni comes as named events with usage at the end', async () => {
    replica = await startTestReplica('vllm-omni-2026');
    const response = await replica.postJson(PATH, { input: INPUT, response_format: 'pcm', stream_format: 'sse' });
    expect(response.headers.get('content-type')).toBe('text/event-stream');
    const events = (await response.text()).trim().split('\n\n').map(parseEvent);
    expect(events.map(({ name }) => name)).toEqual([...Array(7).fill('speech.audio.delta'), 'speech.audio.done']);
    const audio = Buffer.concat(events.map(({ data }) => Buffer.from(String(data.audio ?? ''), 'base64')));
    expect(audio.length).toBe(SECONDS * 48_000);
    expect(events.at(-1)?.data).toMatchObject({ usage: { input_tokens: 12, output_tokens: 39, total_tokens: 51 } });
  });

  it('of vLLM-Omni has its tokens in headers when it is whole', async () => {
    replica = await startTestReplica('vllm-omni-2026');
    const response = await replica.postJson(PATH, { input: INPUT });
    expect(response.headers.get('x-vllm-omni-total-tokens')).toBe('51');
  });

  it('that fails midway breaks the body of a 200, or says so in an event', async () => {
    replica = await startTestReplica('kokoro');
    await replica.addFaults({ fault: 'render_fails' });
    const broken = await replica.postJson(PATH, { input: INPUT, response_format: 'pcm' });
    expect(broken.status).toBe(200);
    await expect(broken.arrayBuffer()).rejects.toThrow();
    const whole = await replica.postJson(PATH, { input: INPUT, stream: false });
    expect([whole.status, await whole.json()]).toMatchObject([500, { detail: { error: 'processing_error' } }]);
    await replica.close();

    replica = await startTestReplica('vllm-omni-2026');
    await replica.addFaults({ fault: 'render_fails' });
    const events = await replica.postJson(PATH, { input: INPUT, response_format: 'pcm', stream_format: 'sse' });
    expect(await events.text()).toMatch(/event: speech.audio.error\ndata: .*"code":500.*\n\n$/);
    expect((await replica.log()).totals).toMatchObject({ rendersFailed: 1 });
  });

  it('stops when its client leaves', async () => {
    replica = await startTestReplica('kokoro', { renderBaseMs: 60_000 });
    const leaving = new AbortController();
    const request = fetch(replica.url + PATH, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ input: INPUT }),
      signal: leaving.signal,
    });
    await request;
    leaving.abort();
    await until('the render to stop', async () => (await replica.log()).totals.rendersAborted === 1);
    expect(await replica.lastRequest(`POST ${PATH}`)).toMatchObject({ state: 'aborted' });
  });

  it.each([
    ['vllm-omni-2026', { input: 'x', response_format: 'aac' }, 400, { error: { param: 'response_format', code: 400 } }],
    ['vllm-omni-2026', { input: 'x', voice: 'nobody' }, 400, { error: { param: 'voice' } }],
    ['vllm-omni-2026', { input: 'x', stream: true, response_format: 'mp3' }, 400, { error: { param: 'stream' } }],
    ['vllm-omni-2026', { input: 'x', speed: 9 }, 400, { error: { param: 'speed' } }],
    ['kokoro', { input: 'x', model: 'unknown' }, 400, { detail: { type: 'invalid_request_error' } }],
    ['kokoro', { input: 'x', voice: 'nobody' }, 400, { detail: { message: expect.stringMatching(/not found/) } }],
    ['kokoro', {}, 422, { detail: [{ loc: ['body', 'input'], type: 'missing' }] }],
    ['sglang', { input: 'x' }, 404, { detail: 'Not Found' }],
  ] as [PersonalityName, object, number, object][])('%s refuses %j', async (personality, fields, status, body) => {
    replica = await startTestReplica(personality);
    const response = await replica.postJson(PATH, fields);
    expect({ status: response.status, body: await response.json() }).toMatchObject({ status, body });
    expect((await replica.log()).renders).toEqual([]);
  });

  it.each([
    ['vllm-omni-2026', 200],
    ['kokoro', 200],
    ['trtllm', 404],
  ] as [PersonalityName, number][])('%s names its voices: %i', async (personality, status) => {
    replica = await startTestReplica(personality, { voices: ['ann', 'bob'] });
    const response = await replica.get('/v1/audio/voices');
    expect(response.status).toBe(status);
    if (status === 200) expect(await response.json()).toMatchObject({ voices: ['ann', 'bob'] });
  });
});

function parseEvent(event: string): { name: string; data: Record<string, unknown> } {
  const [name = '', data = ''] = event.split('\n');
  return { name: name.replace('event: ', ''), data: JSON.parse(data.replace('data: ', '')) };
}
