import { createHash } from 'node:crypto';
import type { Readable } from 'node:stream';
import type { PutOptions, StoredBytes } from './objectStore.ts';
import { ObjectStoreError } from './objectStoreError.ts';
import { withinTime } from './withinTime.ts';

export interface MeasuredStream {
  /** The stream's bytes as they come, once. Fails where the stream does, and destroys it where it is not read to its end. */
  chunks: AsyncIterable<Uint8Array>;
  /** Length and hash of the bytes read so far. */
  total(): StoredBytes;
}

/** Counts and hashes a stream while it is read, and ends it where it is too long, too short, or silent for too long. */
export function measureStream(
  source: Readable,
  { maxBytes, bytes: promised, idleTimeoutMs }: Pick<PutOptions, 'maxBytes' | 'bytes'> & { idleTimeoutMs: number },
): MeasuredStream {
  const hash = createHash('sha256');
  let bytes = 0;
  // The source may fail between two reads. The next read gets the error.
  source.on('error', () => undefined);

  async function* read(): AsyncGenerator<Uint8Array> {
    if (promised !== undefined && promised > maxBytes) throw new ObjectStoreError('too_large');
    const chunks: AsyncIterator<Uint8Array> = source[Symbol.asyncIterator]();
    try {
      for (;;) {
        // The time runs while the stream is waited for, not while its bytes are stored.
        const next = await withinTime(idleTimeoutMs, stalled, () => chunks.next());
        if (next.done) break;
        bytes += next.value.byteLength;
        if (bytes > maxBytes) throw new ObjectStoreError('too_large');
        if (promised !== undefined && bytes > promised) throw new ObjectStoreError('wrong_length');
        hash.update(next.value);
        yield next.value;
      }
    } finally {
      source.destroy();
    }
    if (promised !== undefined && bytes !== promised) throw new ObjectStoreError('wrong_length');
  }

  return { chunks: read(), total: () => ({ bytes, sha256: hash.digest('hex') }) };
}

const stalled = () => new ObjectStoreError('stalled');
