import { type FileHandle, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';

/** One file of the spool: lines of a checksum and an event. */
export interface Segment {
  path: string;
  /** How much of the file is known to be written. */
  bytes: number;
  /** How many of its events wait to be released. */
  events: number;
}

export const LINE_END = Buffer.from('\n');
const CHECKSUM_LENGTH = 8;

/** The number in a segment's file name; undefined for another file. */
export function numberOfSegment(fileName: string): number | undefined {
  const digits = /^(\d{10})\.spool$/.exec(fileName)?.[1];
  return digits === undefined ? undefined : Number(digits);
}

/** Makes an empty segment whose name, too, survives the machine. */
export async function createSegment(dir: string, number: number): Promise<{ path: string; file: FileHandle }> {
  const path = join(dir, `${String(number).padStart(10, '0')}.spool`);
  const file = await open(path, 'ax', 0o600);
  try {
    const folder = await open(dir, 'r');
    await folder.sync().finally(() => folder.close());
    return { path, file };
  } catch (error) {
    await file.close();
    // The file is still empty, and each further try would leave one more.
    await rm(path, { force: true });
    throw error;
  }
}

export const toLine = (eventJson: string): Buffer => Buffer.from(`${checksumOf(eventJson)} ${eventJson}\n`);

/** The event of a line; undefined if a byte of it is not as it was written. */
export function readLine(line: string): string | undefined {
  const eventJson = line.slice(CHECKSUM_LENGTH + 1);
  return line.startsWith(`${checksumOf(eventJson)} `) ? eventJson : undefined;
}

const checksumOf = (text: string): string => crc32(text).toString(16).padStart(CHECKSUM_LENGTH, '0');

export async function readRange(path: string, offset: number, length: number): Promise<Buffer> {
  const file = await open(path, 'r');
  try {
    const { buffer, bytesRead } = await file.read(Buffer.allocUnsafe(length), 0, length, offset);
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}
