import type { BodyMemory, TakenBytes } from '@turnpike/request-reading/shares/bodyMemory';
import type { UploadFolder } from './uploadFolder.ts';

/** Memory and disk for the bodies of all calls of this process. */
export interface BodyCapacity {
  memory: BodyMemory;
  /** The same of the disk. */
  disk: BodyMemory;
  folder: UploadFolder;
}

/** Memory and disk that one call has taken. */
export interface CallCapacity {
  memory: TakenBytes;
  disk: TakenBytes;
  folder: UploadFolder;
  close(): void;
}

export function openCallCapacity({ memory, disk, folder }: BodyCapacity, keyId: string): CallCapacity {
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
