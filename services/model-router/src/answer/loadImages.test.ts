import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { describe, expect, it } from '@jest/globals';
import { ApiError } from '@turnpike/public-api/apiError';
import type { ImageLoader } from '@turnpike/request-reading/images/createImageLoader';
import { ImageError, type ImageErrorReason } from '@turnpike/request-reading/images/imageError';
import { createBodyMemory } from '@turnpike/request-reading/shares/bodyMemory';
import { until } from '@turnpike/test-support/until';
import type { Response } from 'express';
import { aCall, answerDependencies, CHAT_OPERATION, RATE_LIMIT } from '../../test/aCall.ts';
import { aChatRequest } from '../../test/aChatRequest.ts';
import { anOpenCall } from '../../test/anOpenCall.ts';
import { answerCall, loadImages } from './answerCall.ts';

const URL = 'https://example.org/a.png';
const withUrl = aChatRequest({
  messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: URL } }] }],
});

/** One call, with a loader that does as `load` says. */
function aCallWithImages(load: ImageLoader['load'], request = withUrl, operation = CHAT_OPERATION) {
  const open = anOpenCall();
  const res = new ServerResponse(new IncomingMessage(new Socket())) as Response;
  const room = createBodyMemory(1_000).open('key_1');
  const call = aCall({ request, operation });
  return {
    open,
    res,
    load: () => loadImages({ load }, call, { room, res }),
    answer: () =>
      answerCall(answerDependencies({ images: { load } }), call, { open, room, rateLimit: RATE_LIMIT, res }),
  };
}

const never = async () => {
  throw new Error('asked for images');
};

it('gives the request with what was fetched', async () => {
  const fetched = new Map([[URL, Buffer.from('data:image/png;base64,AAAA')]]);
  const { res, load } = aCallWithImages(async () => fetched);
  expect(await load()).toMatchObject({ kind: 'loaded', request: { images: { urls: [URL], fetched } } });
  expect(res.listenerCount('close')).toBe(0);
});

it('lets a call go on to the engines with what was fetched', async () => {
  const fetched = new Map([[URL, Buffer.from('data:image/png;base64,AAAA')]]);
  const { open, answer } = aCallWithImages(async () => fetched);
  await expect(answer()).rejects.toMatchObject({ fault: { kind: 'no_healthy_engine' } });
  expect(open.endings).toEqual([{ status: 'failure', reason: 'no_healthy_engine' }]);
});

it('asks for no images where a request has none', async () => {
  const { answer } = aCallWithImages(never, aChatRequest());
  await expect(answer()).rejects.toMatchObject({ fault: { kind: 'no_healthy_engine' } });
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
  const { open, answer } = aCallWithImages(async () => {
    throw new ImageError(reason);
  });
  const error = await answer().catch((thrown: unknown) => thrown);
  expect((error as ApiError).fault).toEqual({ kind: 'image_unusable' });
  expect(open.endings).toEqual([{ status: 'failure', reason: 'image_unusable' }]);
});

it('names the field of the images as the API of the call does', async () => {
  const load = async () => {
    throw new ImageError('not_an_image');
  };
  const { answer } = aCallWithImages(load, withUrl, { ...CHAT_OPERATION, fieldNames: { messages: 'input' } });
  await expect(answer()).rejects.toMatchObject({ fault: { kind: 'image_unusable', param: 'input' } });
});

it('ends the call as a failure when there is no room, and says so', async () => {
  const { open, answer } = aCallWithImages(async () => {
    throw new ApiError({ kind: 'no_room_for_body' });
  });
  await expect(answer()).rejects.toMatchObject({ fault: { kind: 'no_room_for_body' } });
  expect(open.endings).toEqual([{ status: 'failure', reason: 'no_room_for_body' }]);
});

it('passes an error of ours on as it is', async () => {
  const { answer } = aCallWithImages(async () => {
    throw new TypeError('a mistake');
  });
  await expect(answer()).rejects.toThrow(TypeError);
});

describe('a client that leaves', () => {
  /** Goes on until it is told to end, as a fetch does. */
  const untilAborted: ImageLoader['load'] = (_urls, { signal }) =>
    new Promise((_resolve, reject) => {
      if (signal.aborted) reject(signal.reason);
      signal.addEventListener('abort', () => reject(signal.reason));
    });

  it('ends the fetches and the call, which costs nothing', async () => {
    const { open, res, answer } = aCallWithImages(untilAborted);
    const running = answer();
    await until('its images are fetched', () => res.listenerCount('close') > 0);
    res.emit('close');
    expect(await running).toBeUndefined();
    expect(open.endings).toEqual([{ status: 'failure', reason: 'client_left_before_engine' }]);
  });

  it('before the first fetch has none made', async () => {
    const { open, res, answer } = aCallWithImages(untilAborted);
    res.destroy();
    expect(await answer()).toBeUndefined();
    expect(open.endings).toHaveLength(1);
  });
});
