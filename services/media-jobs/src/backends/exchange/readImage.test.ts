import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { describe, expect, it } from '@jest/globals';
import { BackendFault } from '../../terms/backend.ts';
import { MAX_AROUND_IMAGE_BYTES, MAX_IMAGE_BYTES } from '../limits.ts';
import type { Answer } from './askBackend.ts';
import { begunStream } from './contentStream.ts';
import { readImage } from './readImage.ts';

const anAnswer = (chunks: Iterable<Buffer>): Answer => ({
  status: 200,
  contentType: 'application/json',
  contentLength: undefined,
  retryAfterMs: undefined,
  body: Readable.from(chunks, { objectMode: false }),
  broken: (cause) => new BackendFault('failed', { cause }),
});

function* pieces(text: string, size: number): Generator<Buffer> {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function read(chunks: Iterable<Buffer>): Promise<Buffer> {
  const answer = anAnswer(chunks);
  return buffer(await begunStream(answer, readImage(answer)));
}

const image = Buffer.from(Array.from({ length: 1_000 }, (_, index) => index % 256));
const base64 = image.toString('base64');

describe('an image within an answer', () => {
  it.each([1, 2, 3, 5, 7, 64, 10_000])('is found whatever the pieces: of %s bytes', async (size) => {
    const trap = { revised_prompt: 'it says "b64_json":"AAAA" and \\"b64_json\\": \\"BBBB\\"', url: null };
    const answer = JSON.stringify({ created: 1, data: [{ ...trap, b64_json: base64 }], usage: { b64_json: 'CCCC' } });
    expect((await read(pieces(answer, size))).equals(image)).toBe(true);
  });

  it('may have blanks around it, and escaped slashes in it', async () => {
    const answer = `{ "data" : [ { "b64_json" :\n "${base64.replaceAll('/', '\\/')}" } ] }`;
    expect((await read(pieces(answer, 3))).equals(image)).toBe(true);
  });

  it.each([
    ['no image', '{"created":1,"data":[]}'],
    ['null', '{"data":[{"b64_json":null,"url":"/v1/images/1"}]}'],
    ['an empty one', '{"data":[{"b64_json":""}]}'],
    ['nothing', ''],
  ])('is missing: %s', async (_case, answer) => {
    await expect(read(pieces(answer, 7))).rejects.toMatchObject({ kind: 'failed' });
  });

  it('is not whole where it has no end', async () => {
    await expect(read(pieces(`{"data":[{"b64_json":"${base64}`, 64))).rejects.toMatchObject({ kind: 'failed' });
  });

  function* endless(head: string): Generator<Buffer> {
    yield Buffer.from(head);
    for (;;) yield Buffer.alloc(64 * 1024, 'A');
  }

  it('that never begins is waited for to a limit', async () => {
    const answer = anAnswer(endless('{"data": "'));
    await expect(begunStream(answer, readImage(answer))).rejects.toMatchObject({ kind: 'failed' });
    expect(answer.body.destroyed).toBe(true);
  });

  it('whose answer does not end behind it is none', async () => {
    const answer = anAnswer(endless(`{"data":[{"b64_json":"${base64}"}]}`));
    const reading = begunStream(answer, readImage(answer)).then((stream) => buffer(stream));
    await expect(reading).rejects.toMatchObject({ kind: 'failed' });
  });

  it('that never ends is given on as it comes, to a limit', async () => {
    const answer = anAnswer(endless('{"data":[{"b64_json":"'));
    let bytes = 0;
    const reading = (async () => {
      for await (const chunk of await begunStream(answer, readImage(answer))) bytes += (chunk as Buffer).length;
    })();
    await expect(reading).rejects.toMatchObject({ kind: 'failed' });
    expect(bytes).toBeLessThanOrEqual(MAX_IMAGE_BYTES);
    expect(bytes).toBeGreaterThan(MAX_IMAGE_BYTES - MAX_AROUND_IMAGE_BYTES);
  });
});
