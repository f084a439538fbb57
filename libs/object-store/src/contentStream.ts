import { Readable } from 'node:stream';
import { ObjectStoreError, unavailable } from './objectStoreError.ts';
import { withinTime } from './withinTime.ts';

/**
 * A stream of exactly that many bytes of `body`. It fails where the body fails, ends early, goes on for longer, or is silent for too
 * long while it is asked for more; a slow reader is waited for. The body goes with it.
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

  // It may fail before it is read; who reads it is told then.
  body.on('error', () => undefined);
  // One that nobody began to read ends no generator.
  return Readable.from(read(), { objectMode: false }).once('close', () => body.destroy());
}

const late = () => unavailable('deadline');

function throwBrokenOff(error: unknown): never {
  throw error instanceof ObjectStoreError ? error : unavailable('broken_off', error);
}
