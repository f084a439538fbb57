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
});
