import { afterEach, describe, expect, it } from '@jest/globals';
import { until } from '@turnpike/test-support/until';
import sharp from 'sharp';
import type { PersonalityName } from '../src/personalities.ts';
import { toBuffer } from './support/readMedia.ts';
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

  it.each(['sglang', 'trtllm'] as const)(
    '%s answers with a path of its own unless told otherwise',
    async (personality) => {
      replica = await startTestReplica(personality);
      const response = await replica.postJson(PATH, { prompt: 'a fox', size: '64x48', n: 2 });
      const { data } = (await response.json()) as ImageBody;
      expect(data[1]).toMatchObject({
        b64_json: null,
        url: expect.stringMatching(/^\/v1\/images\/.*\/content\?variant=1$/),
      });
      const content = await replica.get(data[1]?.url ?? '');
      expect(content.headers.get('content-type')).toBe('image/png');
      expect(await sharp(await toBuffer(content)).metadata()).toMatchObject({ width: 64, height: 48 });
    },
  );

  it.each([
    [
      'no prompt',
      { n: 1 },
      422,
      { detail: [{ type: 'missing', loc: ['body', 'prompt'], msg: 'Field required', input: null }] },
    ],
    ['a url', { prompt: 'x', response_format: 'url' }, 422, { detail: [expect.objectContaining({ input: 'url' })] }],
    ['eleven', { prompt: 'x', n: 11 }, 422, { detail: [expect.objectContaining({ loc: ['body', 'n'] })] }],
    ['too many pixels', { prompt: 'x', size: '9000x9000' }, 400, { detail: expect.stringMatching(/maximum pixels/) }],
    ['another model', { prompt: 'x', model: 'y' }, 400, { detail: expect.stringMatching(/Model mismatch/) }],
  ])('vLLM-Omni refuses %s', async (_case, fields, status, body) => {
    replica = await startTestReplica('vllm-omni-2026');
    const response = await replica.postJson(PATH, fields);
    expect({ status: response.status, body: await response.json() }).toEqual({ status, body });
    expect((await replica.log()).totals).toMatchObject({ requests: 1, rendersOrdered: 0 });
  });

  it('TensorRT-LLM refuses a field that it does not know, in its own form', async () => {
    replica = await startTestReplica('trtllm');
    const response = await replica.postJson(PATH, { prompt: 'x', lora: 'y' });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ object: 'error', type: 'BadRequestError', code: 400 });
  });

  it('refuses a format that it does not make, in the form of errors that a test has chosen', async () => {
    replica = await startTestReplica('vllm-omni-2026', { imageFormats: ['png'], errorForm: 'envelope' });
    const response = await replica.postJson(PATH, { prompt: 'x', output_format: 'webp' });
    expect([response.status, await response.json()]).toMatchObject([400, { error: { code: 400, param: null } }]);
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
