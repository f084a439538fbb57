import { Readable } from 'node:stream';
import { BackendFault } from '../../terms/backend.ts';
import { CONTENT_MS } from '../limits.ts';
import type { Answer } from './askBackend.ts';

/**
 * Yields the bytes of an answer as they arrive. Throws `failed` above `maxBytes`. Throws `answer.broken` if the bytes
 * break off, stall, or differ in number from `content-length`.
 */
export async function* readBytes(
  { body, broken, contentLength }: Answer,
  { maxBytes }: { maxBytes: number },
): AsyncGenerator<Buffer> {
  if (contentLength !== undefined && contentLength > maxBytes) throw tooLarge();
  let bytes = 0;
  const chunks: AsyncIterator<Buffer> = body[Symbol.asyncIterator]();
  for (;;) {
    const next = await chunks.next().catch((error: unknown) => {
      throw broken(error);
    });
    if (next.done) break;
    bytes += next.value.length;
    if (bytes > maxBytes) throw tooLarge();
    yield next.value;
  }
  if (contentLength !== undefined && bytes !== contentLength) throw broken();
}

const tooLarge = () => new BackendFault('failed', { cause: new Error('more bytes than it may have') });

/**
 * Returns a stream of chunks read from an answer. The stream destroys the answer's body with itself and fails after
 * `CONTENT_MS`.
 */
export function contentStream({ body, broken }: Answer, chunks: AsyncGenerator<Buffer>): Readable {
  const stream = new Readable({
    read() {
      chunks.next().then(
        ({ done, value }) => stream.push(done ? null : value),
        (error) => stream.destroy(error),
      );
    },
    // The body is destroyed at once, because its end releases the reads that wait for more of it.
    destroy(error, done) {
      clearTimeout(timer);
      body.destroy();
      done(error);
    },
  });
  const timer = setTimeout(() => stream.destroy(broken(new Error('too slow')) as Error), CONTENT_MS).unref();
  // The stream may fail before it is read. The next read then rejects.
  return stream.on('error', () => {});
}

/**
 * Returns a content stream once its first `leastBytes` are there. Rejects with an error that comes before, and if the
 * answer ends before.
 */
export async function begunStream(
  answer: Answer,
  chunks: AsyncGenerator<Buffer>,
  { leastBytes = 1, isGood = () => true }: { leastBytes?: number; isGood?: (head: Buffer) => boolean } = {},
): Promise<Readable> {
  let head = Buffer.alloc(0);
  try {
    while (head.length < leastBytes) {
      const next = await chunks.next();
      if (next.done) throw answer.broken(new Error('it ended before it began'));
      head = Buffer.concat([head, next.value]);
    }
    if (!isGood(head)) throw answer.broken(new Error('it is something else'));
  } catch (error) {
    answer.body.destroy();
    throw error;
  }
  return contentStream(answer, precededBy(head, chunks));
}

async function* precededBy(head: Buffer, rest: AsyncGenerator<Buffer>): AsyncGenerator<Buffer> {
  yield head;
  yield* rest;
}
