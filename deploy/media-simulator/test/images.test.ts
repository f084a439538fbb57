import { afterEach, describe, expect, it } from '@jest/globals';
import { until } from '@turnpike/test-support/until';
import sharp from 'sharp';
import type { PersonalityName } from '../src/personalities.ts';
import { MODEL, startTestReplica, type TestReplica } from './support/testReplica.ts';

let replica: TestReplica;
afterEach(() => replica.close());

const PATH = '/v1/images/generations';

interface ImageBody {
  data: { b64_json: string | null; url: string | null }[];
}

const decode = (b64: string | null | undefined) => sharp(Buffer.from(b64 ?? '', 'base64')).metadata();

describe('images', () => {
  it.each([
    ['vllm-omni-2026', 'png', '640x352'],
    ['vllm-omni-early', 'webp', '64x1000'],
    ['sglang', 'jpeg', '512x512'],
    ['trtllm', 'webp', '1024x1024'],
  ] as [PersonalityName, string, string][])('%s makes a real %s of %s', async (personality, format, size) => {
    replica = await startTestReplica(personality);
    const fields = { prompt: 'a fox', model: MODEL, n: 2, size, output_format: format, response_format: 'b64_json' };
    const response = await replica.postJson(PATH, fields);
    expect(response.status).toBe(200);
    const { data } = (await response.json()) as ImageBody;
    const [width, height] = size.split('x').map(Number);
    expect(data).toHaveLength(2);
    for (const { b64_json } of data) expect(await decode(b64_json)).toMatchObject({ format, width, height });
    expect(data[0]?.b64_json).not.toBe(data[1]?.b64_json);
    const { totals, renders } = await replica.log();
    expect(totals).toMatchObject({ requests: 1, rendersOrdered: 1, rendersFinished: 1 });
    expect(renders[0]).toMatchObject({ operation: 'image', prompt: 'a fox', units: { images: 2, width, height } });
    expect(renders[0]?.outputs).toHaveLength(2);
  });

  it('makes the same image for the same seed, and another for another', async () => {
    replica = await startTestReplica('vllm-omni-2026');
    const draw = async (seed: number) => {
      const response = await replica.postJson(PATH, { prompt: 'a fox', size: '64x64', seed });
      return ((await response.json()) as ImageBody).data[0]?.b64_json;
    };
    expect(await draw(1)).toBe(await draw(1));
    expect(await draw(1)).not.toBe(await draw(2));
  });

  it('goes on rendering when its client has left', async () => {
    replica = await startTestReplica('vllm-omni-2026', { clock: 'virtual', renderBaseMs: 1_000 });
    const leaving = new AbortController();
    const body = JSON.stringify({ prompt: 'x', size: '64x64' });
    const headers = { 'content-type': 'application/json' };
    const answer = fetch(replica.url + PATH, { method: 'POST', headers, body, signal: leaving.signal });
    await until('the render', async () => (await replica.log()).totals.rendersStarted === 1);
    leaving.abort();
    await expect(answer).rejects.toThrow();
    expect(await replica.lastRequest(`POST ${PATH}`)).toMatchObject({ state: 'aborted', bytesServed: 0 });
    await replica.admin('advance', { ms: 60_000 });
    await until('its end', async () => (await replica.log()).totals.rendersFinished === 1);
    expect((await replica.log()).totals).toMatchObject({ rendersFinished: 1, rendersAborted: 0 });
  });
});
