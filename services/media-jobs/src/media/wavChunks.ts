import type { FileHandle } from 'node:fs/promises';

interface Chunk {
  name: string;
  /** Where it ends, as its header says; with its padding. */
  end: number;
  length: number;
}

const FIRST_CHUNK = 12;
const HEADER_BYTES = 8;
/** Chunks of a file that is not made to waste time. */
const MAX_CHUNKS = 64;
/** Who streams a WAV writes such a length, or 0, as it does not know. */
const UNKNOWN_LENGTH = 0x7fff_0000;

async function* chunksOf(file: FileHandle): AsyncGenerator<Chunk> {
  const header = Buffer.alloc(HEADER_BYTES);
  let offset = FIRST_CHUNK;
  for (let count = 0; count < MAX_CHUNKS; count += 1) {
    const { bytesRead } = await file.read(header, 0, HEADER_BYTES, offset);
    const name = header.toString('latin1', 0, 4);
    if (bytesRead < HEADER_BYTES || !/^[\x20-\x7e]{4}$/.test(name)) return;
    const length = header.readUInt32LE(4);
    offset += HEADER_BYTES + length + (length % 2);
    yield { name, end: offset, length };
  }
}

/**
 * Whether the chunks of a WAV end where its file does. Where they do not, its header says less, or more, than there is: it was
 * streamed, or is forged.
 */
export async function hasHonestLength(file: FileHandle, fileBytes: number): Promise<boolean> {
  for await (const { end } of chunksOf(file)) {
    if (end === fileBytes || end === fileBytes + 1) return true; // the last one may lack its padding
  }
  return false;
}

/** Whether a WAV has less sound than its header says, which knows how much. */
export async function isCutOff(file: FileHandle, fileBytes: number): Promise<boolean> {
  for await (const { name, end, length } of chunksOf(file)) {
    if (name === 'data') return length < UNKNOWN_LENGTH && end > fileBytes + 1;
  }
  return false;
}
