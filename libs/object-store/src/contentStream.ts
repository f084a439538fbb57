import { Readable } from 'node:stream';
import { ObjectStoreError, unavailable } from './objectStoreError.ts';
import { withinTime } from './withinTime.ts';

/**
 * Returns a stream of exactly `bytes` bytes of `body`. The stream fails if the body fails, ends early, is longer, or
 * sends nothing for too long although the reader asks for more. A slow reader may take its time. Destroying the stream
 * destroys the body.
 */
export function contentStream(body: Readable, bytes: number, { idleTimeoutMs }: { idleTimeoutMs: number }): Readable {
  async function* read(): AsyncGenerator<Uint8Array> {
    const chunks: AsyncIterator<Uint8Array> = body[Symbol.asyncIterator]();
    let rest = bytes;
    for (;;) {
      const next = await withinTime(idleTimeoutMs, late, () => chunks.next()).catch(throwBrokenOff);
      if (next.done) break;
      rest -= next.value.byteLength;
      if (rest < 0) throw unavailable('broken_off');
      yield next.value;
    }
    if (rest > 0) throw unavailable('broken_off');
  }

  // The body may fail before anything reads it. Its next reader gets the error.
  body.on('error', () => undefined);
  // One that nobody began to read ends no generator.
  return Readable.from(read(), { objectMode: false }).once('close', () => body.destroy());
}

const late = () => unavailable('deadline');

function throwBrokenOff(error: unknown): never {
  throw error instanceof ObjectStoreError ? error : unavailable('broken_off', error);
}
