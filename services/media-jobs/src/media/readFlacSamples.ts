import type { FileHandle } from 'node:fs/promises';

/** Where the header of a FLAC file has its count of samples, in the lower 36 bits of eight bytes. */
const COUNT_OFFSET = 18;
const COUNT_MASK = 2n ** 36n - 1n;

/** How many samples a FLAC file of ours has; 0 where it is empty. */
export async function readFlacSamples(file: FileHandle): Promise<number> {
  const bytes = Buffer.alloc(8);
  const { bytesRead } = await file.read(bytes, 0, bytes.length, COUNT_OFFSET);
  return bytesRead < bytes.length ? 0 : Number(bytes.readBigUInt64BE() & COUNT_MASK);
}
