import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';

const CHUNK_BYTES = 64 * 1024;
/** A prime length, so that no two chunks of a stream are alike and an exchange of two is seen. */
const PATTERN = Buffer.from(Array.from({ length: 65_521 }, (_, n) => (n * 31 + (n >> 8)) % 256));

/** Returns the first `length` bytes of the pattern that these streams repeat. */
export function bytesOf(length: number): Buffer {
  const bytes = Buffer.alloc(length);
  for (let at = 0; at < length; at += PATTERN.length) PATTERN.copy(bytes, at);
  return bytes;
}

async function* chunks(length: number, thenFailWith?: Error): AsyncGenerator<Buffer> {
  const twice = Buffer.concat([PATTERN, PATTERN]);
  for (let at = 0; at < length; at += CHUNK_BYTES) {
    const from = at % PATTERN.length;
    yield twice.subarray(from, from + Math.min(CHUNK_BYTES, length - at));
  }
  if (thenFailWith) throw thenFailWith;
}

/** A stream of so many bytes, made as it is read. */
export const aStream = (length: number): Readable => Readable.from(chunks(length), { objectMode: false });

/** The same, and then an error in place of an end. */
export const aFailingStream = (length: number, error: Error): Readable =>
  Readable.from(chunks(length, error), { objectMode: false });

/** The same, and then nothing. Made by a generator, it cannot even be ended: its destruction waits for the generator. */
export function aStallingStream(length: number): Readable {
  async function* stall(): AsyncGenerator<Buffer> {
    yield* chunks(length);
    await new Promise(() => undefined);
  }
  return Readable.from(stall(), { objectMode: false });
}

/** The same from a source that ends when it is destroyed, as a socket does. */
export function anOpenStream(length: number): Readable {
  const stream = new Readable({ read: () => undefined });
  stream.push(bytesOf(length));
  return stream;
}

export interface ReadSummary {
  bytes: number;
  sha256: string;
  /** The error of a failed stream. */
  error?: unknown;
}

/** Reads a stream to its end or failure, keeping none of it. */
export async function summarize(stream: Readable): Promise<ReadSummary> {
  const hash = createHash('sha256');
  let bytes = 0;
  try {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      hash.update(chunk);
      bytes += chunk.length;
    }
  } catch (error) {
    return { bytes, sha256: hash.digest('hex'), error };
  }
  return { bytes, sha256: hash.digest('hex') };
}

export const sha256Of = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');
