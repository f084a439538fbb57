import type { BodyMemory, TakenBytes } from '@turnpike/request-reading/shares/bodyMemory';
import type { UploadFolder } from './uploadFolder.ts';

/** What bodies of all calls may take in this process. */
export interface BodyRoom {
  memory: BodyMemory;
  /** The same of the disk. */
  disk: BodyMemory;
  folder: UploadFolder;
}

/** What one call has taken of it. */
export interface CallRoom {
  memory: TakenBytes;
  disk: TakenBytes;
  folder: UploadFolder;
  close(): void;
}

export function openCallRoom({ memory, disk, folder }: BodyRoom, keyId: string): CallRoom {
  const taken = { memory: memory.open(keyId), disk: disk.open(keyId) };
  return {
    ...taken,
    folder,
    close() {
      taken.memory.close();
      taken.disk.close();
    },
  };
}
