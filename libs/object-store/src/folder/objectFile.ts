import type { FileHandle } from 'node:fs/promises';
import { unavailable } from '../objectStoreError.ts';

/** Record of an object, stored behind its bytes in the same file, so that both appear and disappear together. */
export interface ObjectNote {
  bytes: number;
  contentType: string;
  sha256: string;
}

/** At the very end of each file, behind the length of the note. */
const MAGIC = Buffer.from('TPO1');
const TAIL_BYTES = 4 + MAGIC.length;
/** More than any note has. */
const LONGEST_NOTE_BYTES = 4_096;

/** A note as it stands in the file: JSON, its length, and a mark. */
export function toNoteBytes(note: ObjectNote): Buffer {
  const json = Buffer.from(JSON.stringify(note));
  const length = Buffer.alloc(4);
  length.writeUInt32BE(json.length);
  return Buffer.concat([json, length, MAGIC]);
}

/** The note of an object's file. One that is not whole is no object: `unavailable`, as nobody may take it for missing. */
export async function readNote(file: FileHandle): Promise<ObjectNote> {
  const { size } = await file.stat();
  const end = Buffer.alloc(Math.min(size, LONGEST_NOTE_BYTES));
  await file.read(end, 0, end.length, size - end.length);
  const mark = end.subarray(-MAGIC.length);
  const noteBytes = mark.equals(MAGIC) ? end.readUInt32BE(end.length - TAIL_BYTES) : 0;
  const noteStart = end.length - TAIL_BYTES - noteBytes;
  if (noteBytes === 0 || noteStart < 0) throw unavailable('failing');
  const note: ObjectNote = JSON.parse(end.toString('utf8', noteStart, noteStart + noteBytes));
  if (note.bytes !== size - TAIL_BYTES - noteBytes) throw unavailable('failing');
  return note;
}
