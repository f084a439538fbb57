import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { sendWireError } from '@turnpike/http-service/sendWireError';
import { ApiError } from '@turnpike/public-api/apiError';
import { speechEventSchema } from '@turnpike/public-api/audioAnswer';
import { imageAnswerSchema, imageEventSchema } from '@turnpike/public-api/imageAnswer';
import { type HttpStandIn, serveHttp } from '@turnpike/test-support/serveHttp';
import { aShownJob, aStoredOutput } from '../../test/aShownJob.ts';
import { createToWireError } from '../api/mediaError.ts';
import { SPEECH_TYPES, type SpeechRequest } from '../terms/mediaRequest.ts';
import { sendSpeech } from './audio/sendSpeech.ts';
import { type Content, sendContent } from './content/sendContent.ts';
import type { FinishedImages } from './images/imageAnswer.ts';
import { sendImages } from './images/sendImages.ts';
import { type Delivery, writeToClient } from './writeToClient.ts';

type Answer = (
  req: { headers: Record<string, string | string[] | undefined> },
  res: ServerResponse,
) => Promise<Delivery>;

const toWireError = createToWireError({ keysPageUrl: '' });
let answer: Answer;
let delivered: PromiseWithResolvers<Delivery | unknown>;
let host: HttpStandIn;
beforeAll(async () => {
  host = await serveHttp(async (req, res) => {
    try {
      delivered.resolve(await answer(req, res));
    } catch (error) {
      delivered.resolve(error);
      sendWireError(res, toWireError(error) ?? { status: 500, body: { detail: '' } });
    }
  });
});
afterAll(() => host.close());

/** Fetches an answer like a client. */
async function get(by: Answer, headers: Record<string, string> = {}): Promise<Response> {
  answer = by;
  delivered = Promise.withResolvers();
  return fetch(host.url, { headers });
}

async function* inPieces(bytes: Buffer, size = 7): AsyncGenerator<Buffer> {
  for (let start = 0; start < bytes.length; start += size) yield bytes.subarray(start, start + size);
}
const eventsOf = (text: string): unknown[] =>
  text.split('\n\n').flatMap((frame) => (frame === '' ? [] : [JSON.parse(frame.replace(/^data: /, ''))]));

describe('images', () => {
  const bytes = [Buffer.from('the first image'), Buffer.from('the second one, of another length')];
  const outputs = bytes.map(({ length }) => aStoredOutput({ bytes: length }));
  const { params, usage, ...job } = aShownJob({ outputs });
  if (params.operation !== 'images.generations' || !usage) throw new Error('this is no job of images');
  const finished = (fields: Partial<typeof params> = {}): FinishedImages => ({
    ...job,
    usage,
    params: { ...params, ...fields },
  });
  const options = {
    publicUrl: 'https://api.example',
    open: async () => (index: number) => inPieces(bytes[index] ?? Buffer.alloc(0)),
  };
  const usageBody = { billing_unit: 'image', units_consumed: 2, total_spend: 0.0056 };

  it('are whole, in base64, with a length that is known before any is read', async () => {
    const response = await get((_req, res) => sendImages(res, finished(), options));
    const text = await response.text();
    expect(response.headers.get('content-length')).toBe(String(Buffer.byteLength(text)));
    expect(imageAnswerSchema.parse(JSON.parse(text))).toEqual({
      created: 1_795_399_200,
      size: '512x256',
      output_format: 'png',
      data: bytes.map((image) => ({ b64_json: image.toString('base64') })),
      usage: usageBody,
    });
  });

  it('are addresses that want the same key, and are not read', async () => {
    const open = () => Promise.reject(new Error('images were read'));
    const response = await get((_req, res) =>
      sendImages(res, finished({ responseFormat: 'url' }), { ...options, open }),
    );
    expect(imageAnswerSchema.parse(await response.json()).data).toEqual([
      { url: 'https://api.example/v1/images/jobs/job_1/content?index=0' },
      { url: 'https://api.example/v1/images/jobs/job_1/content?index=1' },
    ]);
  });

  it('are events, the last of which has the usage', async () => {
    const response = await get((_req, res) => sendImages(res, finished({ isStream: true }), options));
    expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
    const events = eventsOf(await response.text()).map((event) => imageEventSchema.parse(event));
    expect(events.map(({ b64_json }) => Buffer.from(b64_json, 'base64'))).toEqual(bytes);
    expect(events.map(({ usage: of }) => of)).toEqual([undefined, usageBody]);
  });

  it('are never taken for whole where the store broke off', async () => {
    async function* broken(): AsyncGenerator<Buffer> {
      yield Buffer.from('the fir');
      throw new Error('the store broke off');
    }
    const reading = get((_req, res) => sendImages(res, finished(), { ...options, open: async () => broken })).then(
      (response) => response.text(),
    );
    await expect(reading).rejects.toThrow();
    expect(await delivered.promise).toEqual(new Error('the store broke off'));
  });
});

describe('content', () => {
  const bytes = Buffer.from('0123456789');
  const sha256 = 'cd'.repeat(32);
  const content: Content = {
    bytes: bytes.length,
    sha256,
    type: 'video/mp4',
    name: 'video_1',
    open: async ({ start, end }) => inPieces(bytes.subarray(start, end + 1), 3),
  };
  const send: Answer = (req, res) => sendContent(req, res, content);

  it('has its length, its hash, a name, and nobody may guess at its type', async () => {
    const response = await get(send);
    expect({ status: response.status, text: await response.text() }).toEqual({ status: 200, text: '0123456789' });
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': 'video/mp4',
      'content-length': '10',
      'content-disposition': 'attachment; filename="video_1.mp4"',
      'accept-ranges': 'bytes',
      etag: `"${sha256}"`,
      'x-content-type-options': 'nosniff',
      'cache-control': 'private, no-transform',
    });
  });

  it.each<[string, string, string]>([
    ['bytes=2-4', '234', 'bytes 2-4/10'],
    ['bytes=7-', '789', 'bytes 7-9/10'],
    ['bytes=7-99', '789', 'bytes 7-9/10'],
    ['bytes=-3', '789', 'bytes 7-9/10'],
    ['bytes=-99', '0123456789', 'bytes 0-9/10'],
    ['bytes=0-0', '0', 'bytes 0-0/10'],
  ])('is 206 for %s', async (range, text, contentRange) => {
    const response = await get(send, { range });
    expect({
      status: response.status,
      range: response.headers.get('content-range'),
      text: await response.text(),
    }).toEqual({
      status: 206,
      range: contentRange,
      text,
    });
  });

  it.each(['bytes=10-', 'bytes=5-4', 'bytes=-0', 'bytes=-', 'bytes=0-1,3-4', 'items=0-1', 'bytes=a-b', 'bytes=1', ''])(
    'is whole for %j, which cannot be satisfied or is none',
    async (range) => {
      const response = await get(send, { range });
      expect({ status: response.status, text: await response.text() }).toEqual({ status: 200, text: '0123456789' });
    },
  );

  it('is a part only of the bytes that the client has', async () => {
    expect((await get(send, { range: 'bytes=5-', 'if-range': `"${sha256}"` })).status).toBe(206);
    expect((await get(send, { range: 'bytes=5-', 'if-range': '"another"' })).status).toBe(200);
  });
});

describe('speech', () => {
  const asked = (fields: Partial<SpeechRequest> = {}) => ({
    responseFormat: 'mp3' as const,
    streamFormat: 'audio' as const,
    ...fields,
  });
  const usage = async () => ({ billing_unit: 'character' as const, units_consumed: 5, total_spend: 0.000004 });
  const cost = { chargeNanoUsd: 4_000n, usage };
  const bytes = Buffer.from('the bytes of the speech');

  it.each(Object.entries(SPEECH_TYPES))('comes as %s by its type', async (format, type) => {
    const response = await get((_req, res) =>
      sendSpeech(res, asked({ responseFormat: format as SpeechRequest['responseFormat'] }), {
        audio: inPieces(bytes),
        onBegin() {},
        ...cost,
      }),
    );
    expect(response.headers.get('content-type')).toBe(type);
    expect(response.headers.get('x-total-spend')).toBe('0.000004');
    expect(Buffer.from(await response.arrayBuffer())).toEqual(bytes);
  });

  it('comes as events, with what it cost at the end', async () => {
    const response = await get((_req, res) =>
      sendSpeech(res, asked({ streamFormat: 'sse' }), { audio: inPieces(bytes), onBegin() {}, ...cost }),
    );
    const events = eventsOf(await response.text()).map((event) => speechEventSchema.parse(event));
    const audio = events.flatMap((event) =>
      event.type === 'speech.audio.delta' ? [Buffer.from(event.audio, 'base64')] : [],
    );
    expect(Buffer.concat(audio)).toEqual(bytes);
    expect(events.at(-1)).toEqual({ type: 'speech.audio.done', usage: await usage() });
  });

  it('has begun once its first byte goes out, and not before', async () => {
    let begun = 0;
    const onBegin = (): void => {
      begun += 1;
    };
    async function* failing(): AsyncGenerator<Buffer> {
      yield Buffer.alloc(0);
      throw new ApiError({ kind: 'backend_unavailable', retryAfterSeconds: 2 });
    }
    for (const streamFormat of ['audio', 'sse'] as const) {
      const refused = await get((_req, res) =>
        sendSpeech(res, asked({ streamFormat }), { audio: failing(), onBegin, ...cost }),
      );
      expect({ status: refused.status, begun }).toEqual({ status: 503, begun: 0 });
    }
    const empty = await get((_req, res) =>
      sendSpeech(res, asked(), { audio: inPieces(Buffer.alloc(0)), onBegin, ...cost }),
    );
    expect({ status: empty.status, begun }).toEqual({ status: 500, begun: 0 });
    await (
      await get((_req, res) => sendSpeech(res, asked(), { audio: inPieces(bytes), onBegin, ...cost }))
    ).arrayBuffer();
    expect(begun).toBe(1);
  });

  it('is cut off where it breaks off', async () => {
    async function* breaking(): AsyncGenerator<Buffer> {
      yield bytes;
      throw new Error('the engine broke off');
    }
    const reading = get((_req, res) => sendSpeech(res, asked(), { audio: breaking(), onBegin() {}, ...cost })).then(
      (response) => response.arrayBuffer(),
    );
    await expect(reading).rejects.toThrow();
  });
});

describe('a client that', () => {
  let isClosed = false;
  async function* endless(): AsyncGenerator<Buffer> {
    isClosed = false;
    try {
      for (;;) yield Buffer.alloc(65_536);
    } finally {
      isClosed = true;
    }
  }

  it.each<[string, Answer, (socket: ReturnType<typeof connect>) => void]>([
    ['leaves', (_req, res) => writeToClient(res, endless()), (socket) => socket.destroy()],
    ['takes nothing', (_req, res) => writeToClient(res, endless(), { slowReaderMs: 100 }), () => {}],
  ])('%s closes what its answer is read from', async (_case, by, then) => {
    answer = by;
    delivered = Promise.withResolvers();
    const socket = connect(Number(new URL(host.url).port), '127.0.0.1');
    socket.on('error', () => {});
    socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n');
    await once(socket, 'readable');
    then(socket);
    expect(await delivered.promise).toBe('left');
    expect(isClosed).toBe(true);
    socket.destroy();
  });
});
