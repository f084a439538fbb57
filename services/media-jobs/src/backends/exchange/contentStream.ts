import { Readable } from 'node:stream';
import { BackendFault } from '../../terms/backend.ts';
import { CONTENT_MS } from '../limits.ts';
import type { Answer } from './askBackend.ts';

/**
 * The bytes of an answer as they come. They fail with `failed` where they are more than they may be, and with what a broken answer
 * means where they break off, are silent for too long or are not as many as were promised.
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

/** A stream of what is read of an answer, whose body goes with it and whose end has a deadline. */
export function contentStream({ body, broken }: Answer, chunks: AsyncGenerator<Buffer>): Readable {
  const stream = new Readable({
    read() {
      chunks.next().then(
        ({ done, value }) => stream.push(done ? null : value),
        (error) => stream.destroy(error),
      );
    },
    // At once: what waits for more of the body is told by its end.
    destroy(error, done) {
      clearTimeout(timer);
      body.destroy();
      done(error);
    },
  });
  const timer = setTimeout(() => stream.destroy(broken(new Error('too slow')) as Error), CONTENT_MS).unref();
  // The stream may fail before it is read: the read rejects then.
  return stream.on('error', () => {});
}

/**
 * The same, once its first bytes are here: what fails until then fails this, and an answer without any is `failed`. Waits for
 * `leastBytes`.
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
