import type { Readable } from 'node:stream';
import type { PrivateFile } from './privateFile.ts';

/** What a backend made, once it has been found to be what it should be, on its way to the store. */
export interface TakenFile {
  bytes: number;
  /** Media type. */
  type: string;
  /** Its bytes, as often as they are asked for. */
  read(): Readable;
  discard(): Promise<void>;
}

export async function toTakenFile(file: PrivateFile, type: string): Promise<TakenFile> {
  return { bytes: await file.size(), type, read: file.read, discard: file.discard };
}
