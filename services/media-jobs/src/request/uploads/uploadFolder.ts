import { randomUUID } from 'node:crypto';
import { type FileHandle, mkdir, open, rm, unlink } from 'node:fs/promises';
import { join } from 'node:path';

/** A file without a name, which goes with this process at the latest. */
export interface UploadFile {
  /** Path for this process and its children, while the file is open here. */
  path: string;
  write(bytes: Buffer): Promise<void>;
  close(): Promise<void>;
}

/** A private folder for what clients send. */
export interface UploadFolder {
  create(): Promise<UploadFile>;
  /** Bytes in the folder now. */
  held(): { files: number; bytes: number };
}

/** Empties a folder, closed to other users, and creates files in it. */
export async function openUploadFolder(folder: string): Promise<UploadFolder> {
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const held = { files: 0, bytes: 0 };
  return {
    held: () => ({ ...held }),
    async create() {
      const name = join(folder, randomUUID());
      const handle = await open(name, 'wx+', 0o600);
      // From here on nothing is left of it when this process dies.
      await unlink(name);
      return toUploadFile(handle, held);
    },
  };
}

/** Counts itself in what is held until it is closed. */
function toUploadFile(handle: FileHandle, held: { files: number; bytes: number }): UploadFile {
  let closing: Promise<void> | undefined;
  let written = 0;
  held.files += 1;
  return {
    path: `/proc/${process.pid}/fd/${handle.fd}`,
    write(bytes) {
      written += bytes.length;
      held.bytes += bytes.length;
      return handle.writeFile(bytes);
    },
    close() {
      if (!closing) {
        held.files -= 1;
        held.bytes -= written;
        closing = handle.close();
      }
      return closing;
    },
  };
}
