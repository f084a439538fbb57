import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { describe, expect, it } from '@jest/globals';
import { ApiError } from '@turnpike/api-errors/apiError';
import { aChatRequest } from '../../test/aChatRequest.ts';
import { anOpenCall } from '../../test/anOpenCall.ts';
import { aSilentLogger } from '../../test/aSilentLogger.ts';
import type { ImageLoader } from '../request/images/createImageLoader.ts';
import { ImageError, type ImageErrorReason } from '../request/images/imageError.ts';
import { createBodyMemory } from '../request/shares/bodyMemory.ts';
import { withImages } from './withImages.ts';

const URL = 'https://example.org/a.png';
const withUrl = aChatRequest({
  messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: URL } }] }],
});

/** One call, with a loader that does as `load` says. */
function aCall(load: ImageLoader['load'], request = withUrl) {
  const call = anOpenCall();
  const res = new ServerResponse(new IncomingMessage(new Socket()));
  const room = createBodyMemory(1_000).open('key_1');
  const run = () =>
    withImages({ load }, { request, workspaceId: 'ws_1', keyId: 'key_1', call, res, room, log: aSilentLogger() });
  return { call, res, run };
}

const never = async () => {
  throw new Error('asked for images');
};

it('gives the request with what was fetched, and the call goes on', async () => {
  const fetched = new Map([[URL, Buffer.from('data:image/png;base64,AAAA')]]);
  const { call, res, run } = aCall(async () => fetched);
  expect(await run()).toMatchObject({ images: { urls: [URL], fetched } });
  expect(call.endings).toEqual([]);
  expect(res.listenerCount('close')).toBe(0);
});

it('leaves a request without images alone', async () => {
  const request = aChatRequest();
  expect(await aCall(never, request).run()).toBe(request);
});

const REASONS: ImageErrorReason[] = [
  'url_not_allowed',
  'name_not_found',
  'address_not_public',
  'connection_failed',
  'too_slow',
  'unexpected_status',
  'not_an_image',
];
it.each(REASONS)('ends the call as a failure that looks like every other: %s', async (reason) => {
  const { call, run } = aCall(async () => {
    throw new ImageError(reason);
  });
  const error = await run().catch((thrown: unknown) => thrown);
  expect((error as ApiError).fault).toEqual({ kind: 'image_unusable' });
  expect(call.endings).toEqual([{ status: 'failure', reason: 'image_unusable' }]);
});

it('ends the call as a failure when there is no room, and says so', async () => {
  const { call, run } = aCall(async () => {
    throw new ApiError({ kind: 'no_room_for_body' });
  });
  await expect(run()).rejects.toMatchObject({ fault: { kind: 'no_room_for_body' } });
  expect(call.endings).toEqual([{ status: 'failure', reason: 'no_room_for_body' }]);
});

it('passes an error of ours on as it is', async () => {
  const { run } = aCall(async () => {
    throw new TypeError('a mistake');
  });
  await expect(run()).rejects.toThrow(TypeError);
});

describe('a client that leaves', () => {
  /** Goes on until it is told to end, as a fetch does. */
  const untilAborted: ImageLoader['load'] = (_urls, { signal }) =>
    new Promise((_resolve, reject) => {
      if (signal.aborted) reject(signal.reason);
      signal.addEventListener('abort', () => reject(signal.reason));
    });

  it('ends the fetches and the call, which costs nothing', async () => {
    const { call, res, run } = aCall(untilAborted);
    const running = run();
    res.emit('close');
    expect(await running).toBeUndefined();
    expect(call.endings).toEqual([{ status: 'failure', reason: 'client_left_before_engine' }]);
  });

  it('before the first fetch has none made', async () => {
    const { call, res, run } = aCall(untilAborted);
    res.destroy();
    expect(await run()).toBeUndefined();
    expect(call.endings).toHaveLength(1);
  });
});
