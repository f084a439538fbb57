import type { FileHandle } from 'node:fs/promises';

/** The eight bytes of a FLAC header with its rate (upper 20 bits) and its count of samples (lower 36 bits). */
const MARK = 'fLaC';
const COUNT_OFFSET = 18;
const COUNT_MASK = 2n ** 36n - 1n;
const RATE_SHIFT = 44n;

async function readField(file: FileHandle): Promise<{ bytes: Buffer; isWhole: boolean }> {
  const bytes = Buffer.alloc(8);
  const { bytesRead } = await file.read(bytes, 0, bytes.length, COUNT_OFFSET);
  return { bytes, isWhole: bytesRead === bytes.length };
}

/** How many samples a FLAC file of ours has; 0 where it is empty. */
export async function readFlacSamples(file: FileHandle): Promise<number> {
  const { bytes, isWhole } = await readField(file);
  return isWhole ? Number(bytes.readBigUInt64BE() & COUNT_MASK) : 0;
}

/**
 * Writes the number of samples of a FLAC file that was decoded to its end. A file with a tag before its header stays
 * unchanged.
 */
export async function writeFlacSamples(file: FileHandle, seconds: number): Promise<void> {
  const mark = Buffer.alloc(MARK.length);
  await file.read(mark, 0, mark.length, 0);
  if (mark.toString('latin1') !== MARK) return;
  const { bytes } = await readField(file);
  const field = bytes.readBigUInt64BE();
  const samples = BigInt(Math.round(seconds * Number(field >> RATE_SHIFT)));
  bytes.writeBigUInt64BE((field & ~COUNT_MASK) | (samples & COUNT_MASK));
  await file.write(bytes, 0, bytes.length, COUNT_OFFSET);
}
