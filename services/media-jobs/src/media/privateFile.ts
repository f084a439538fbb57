import { randomUUID } from 'node:crypto';
import { type FileHandle, open, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';

/** A file without a name: nobody else can open it, and nothing is left of it when this process ends, however that happens. */
export interface PrivateFile {
  readonly handle: FileHandle;
  /** By which this process can open it again, and no other. */
  readonly path: string;
  /** Writes a stream into it. Rejects as the stream does, or with the signal's reason. */
  fill(source: Readable, signal: AbortSignal): Promise<void>;
  /** From its beginning. */
  read(): Readable;
  size(): Promise<number>;
  discard(): Promise<void>;
}

/** Makes one on the disk of a folder. */
export async function createPrivateFile(folder: string): Promise<PrivateFile> {
  const name = join(folder, randomUUID());
  const handle = await open(name, 'wx+', 0o600);
  await unlink(name);
  let isOpen = true;
  return {
    handle,
    path: `/proc/self/fd/${handle.fd}`,
    async fill(source, signal) {
      const abort = (): void => void source.destroy(signal.reason);
      signal.addEventListener('abort', abort, { once: true });
      if (signal.aborted) abort();
      try {
        await handle.writeFile(source);
        signal.throwIfAborted();
      } catch (error) {
        throw signal.aborted ? signal.reason : error;
      } finally {
        signal.removeEventListener('abort', abort);
      }
    },
    read: () => handle.createReadStream({ start: 0, autoClose: false }),
    size: async () => (await handle.stat()).size,
    async discard() {
      if (!isOpen) return;
      isOpen = false;
      await handle.close();
    },
  };
}
