import type { FileHandle } from 'node:fs/promises';

interface Chunk {
  name: string;
  /** Offset of the first byte. */
  start: number;
  /** Offset of the end by the header, with padding. */
  end: number;
  length: number;
}

const FIRST_CHUNK = 12;
const HEADER_BYTES = 8;
const RIFF_LENGTH_OFFSET = 4;
/** Offset within `fmt ` of the bytes of one sample of all channels. */
const BLOCK_ALIGN_OFFSET = 12;
/** Most chunks of an honest file. */
const MAX_CHUNKS = 64;
/** Length in the header of a streamed WAV, whose writer does not know it. Some write 0. */
const UNKNOWN_LENGTH = 0x7fff_0000;

async function* chunksOf(file: FileHandle): AsyncGenerator<Chunk> {
  const header = Buffer.alloc(HEADER_BYTES);
  let offset = FIRST_CHUNK;
  for (let count = 0; count < MAX_CHUNKS; count += 1) {
    const { bytesRead } = await file.read(header, 0, HEADER_BYTES, offset);
    const name = header.toString('latin1', 0, 4);
    if (bytesRead < HEADER_BYTES || !/^[\x20-\x7e]{4}$/.test(name)) return;
    const length = header.readUInt32LE(4);
    const start = offset + HEADER_BYTES;
    offset = start + length + (length % 2);
    yield { name, start, end: offset, length };
  }
}

/**
 * Returns whether the chunks of a WAV end where its file does. If they do not, the file was streamed, or its header is
 * forged.
 */
export async function hasHonestLength(file: FileHandle, fileBytes: number): Promise<boolean> {
  for await (const { end } of chunksOf(file)) {
    if (end === fileBytes || end === fileBytes + 1) return true; // the last one may lack its padding
  }
  return false;
}

/** Returns whether a WAV has less audio than its header states. A header without a length counts as false. */
export async function isCutOff(file: FileHandle, fileBytes: number): Promise<boolean> {
  for await (const { name, end, length } of chunksOf(file)) {
    if (name === 'data') return length < UNKNOWN_LENGTH && end > fileBytes + 1;
  }
  return false;
}

/**
 * Writes the lengths of a streamed WAV into its header: that of the samples, which go to the file's end, and that of
 * the file. Other kinds of RIFF stay unchanged.
 */
export async function writeLengths(file: FileHandle, fileBytes: number): Promise<void> {
  if ((await readBytes(file, 0, RIFF_LENGTH_OFFSET)).toString('latin1') !== 'RIFF') return;
  let bytes = fileBytes;
  let sampleBytes = 1;
  for await (const { name, start, length } of chunksOf(file)) {
    if (name === 'fmt ')
      sampleBytes = Math.max(1, (await readBytes(file, start + BLOCK_ALIGN_OFFSET, 2)).readUInt16LE());
    if (name !== 'data') continue;
    if (length === 0 || length >= UNKNOWN_LENGTH) {
      const rest = fileBytes - start;
      const whole = rest - (rest % sampleBytes);
      bytes = start + whole + (whole % 2);
      await file.truncate(bytes);
      await writeUInt32(file, whole, start - 4);
    }
    break;
  }
  await writeUInt32(file, bytes - HEADER_BYTES, RIFF_LENGTH_OFFSET);
}

async function readBytes(file: FileHandle, offset: number, length: number): Promise<Buffer> {
  const bytes = Buffer.alloc(length);
  await file.read(bytes, 0, length, offset);
  return bytes;
}

async function writeUInt32(file: FileHandle, value: number, offset: number): Promise<void> {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  await file.write(bytes, 0, bytes.length, offset);
}
