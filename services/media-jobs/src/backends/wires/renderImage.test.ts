import { buffer } from 'node:stream/consumers';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import sharp from 'sharp';
import { openBackend, type TestBackend } from '../../../test/support/openBackends.ts';
import type { ImageRequest } from '../../terms/mediaRequest.ts';

/** Never fires: the time limit of a test is Jest's, and the file as a whole has none. */
const { signal } = new AbortController();
const aRequest: ImageRequest = {
  operation: 'images.generations',
  model: 'test-model',
  prompt: 'a fox with "b64_json":"quotes"',
  n: 3,
  size: { width: 64, height: 48 },
  outputFormat: 'jpeg',
  responseFormat: 'b64_json',
  quality: 'hd',
  style: 'vivid',
  background: 'transparent',
  isAsync: false,
  isStream: false,
};

describe.each(['vllm-omni-2026', 'vllm-omni-early', 'sglang', 'trtllm'] as const)('an image of %s', (personality) => {
  let backend: TestBackend;
  beforeAll(async () => {
    backend = await openBackend(personality);
  });
  afterEach(() => backend.simulator.clearFaults());
  afterAll(() => backend.close());

  const render = async (request = aRequest): Promise<Buffer> =>
    buffer(await backend.dialect.image(backend.replica, request, signal));

  it('is the bytes that were made, of one image, asked for by the fields that are known', async () => {
    const image = await render();
    expect(await sharp(image).metadata()).toMatchObject({ format: 'png', width: 64, height: 48 });
    const { renders } = await backend.simulator.log();
    expect(renders.at(-1)).toMatchObject({ units: { images: 1 }, outputs: [{ bytes: image.length }] });
    const { fields } = await backend.simulator.lastRequest('POST /v1/images/generations');
    expect(fields).toEqual({
      model: 'test-model',
      prompt: aRequest.prompt,
      n: '1',
      size: '64x48',
      response_format: 'b64_json',
      output_format: 'png',
      seed: expect.stringMatching(/^\d+$/),
    });
  });

  it('is another one each time', async () => {
    expect((await render()).equals(await render())).toBe(false);
  });

  it('of many megabytes comes whole', async () => {
    const image = await render({ ...aRequest, size: { width: 1_024, height: 1_024 } });
    expect(await sharp(image).metadata()).toMatchObject({ width: 1_024, height: 1_024 });
  });

  it.each([
    ['refuse_500', { kind: 'failed' }],
    ['refuse_503_retry_after', { kind: 'busy', retryAfterMs: expect.any(Number) }],
    ['refuse_429', { kind: 'busy' }],
    ['reset_before_answer', { kind: 'cut_off' }],
    ['answer_lost', { kind: 'cut_off' }],
    ['html_with_200', { kind: 'failed' }],
    ['invalid_json', { kind: 'failed' }],
    ['body_empty', { kind: 'failed' }],
    ['body_reset', { kind: 'failed' }],
    ['body_short', { kind: 'failed' }],
    ['render_fails_with_prompt', { kind: 'failed' }],
    ['render_refuses_prompt', { kind: 'content_refused' }],
    ['fewer_images', { kind: 'failed' }],
    ['output_empty', { kind: 'failed' }],
  ] as const)('under %s is none', async (fault, expected) => {
    await backend.simulator.addFaults({ match: { route: 'POST /v1/images/generations' }, fault, times: 1 });
    await expect(render()).rejects.toMatchObject({ name: 'BackendFault', ...expected });
  });

  it('says nothing that the engine said', async () => {
    await backend.simulator.addFaults({ fault: 'render_fails_with_prompt', times: 1 });
    const fault = await render({ ...aRequest, prompt: 'CANARY' }).catch((error: Error) => error);
    expect(JSON.stringify([fault, String(fault), fault instanceof Error && String(fault.cause)])).not.toContain(
      'CANARY',
    );
  });

  it('that is given up rejects with the reason', async () => {
    await backend.simulator.addFaults({
      fault: 'never_answers',
      match: { route: 'POST /v1/images/generations' },
      times: 1,
    });
    const left = new AbortController();
    const rendering = backend.dialect.image(backend.replica, aRequest, left.signal);
    left.abort(new Error('cancelled'));
    await expect(rendering).rejects.toThrow('cancelled');
  });
});
