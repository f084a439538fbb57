import { randomUUID } from 'node:crypto';
import { type FileHandle, open, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';

const PIECE_BYTES = 65_536;

/** A file without a name. No other process can open it, and it is gone at every kind of end of this process. */
export interface PrivateFile {
  readonly handle: FileHandle;
  /** Path by which this process, and no other, can open the file again. */
  readonly path: string;
  /** Writes a stream into it. Rejects as the stream does, or with the signal's reason. */
  fill(source: Readable, signal: AbortSignal): Promise<void>;
  /** From its beginning, any number of times: a reader that is destroyed leaves the file open. */
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
    read: () => Readable.from(piecesOf(handle), { objectMode: false }),
    size: async () => (await handle.stat()).size,
    async discard() {
      if (!isOpen) return;
      isOpen = false;
      await handle.close();
    },
  };
}

/** A stream of `handle.createReadStream` closes the handle when it is destroyed, whatever `autoClose` says. */
async function* piecesOf(handle: FileHandle): AsyncGenerator<Buffer> {
  for (let position = 0; ; ) {
    const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafe(PIECE_BYTES), 0, PIECE_BYTES, position);
    if (bytesRead === 0) return;
    position += bytesRead;
    yield buffer.subarray(0, bytesRead);
  }
}

/** A backend's output that was decoded, and is ready to be stored. */
export interface TakenFile {
  bytes: number;
  /** Media type. */
  type: string;
  /** Returns its bytes, any number of times. */
  read(): Readable;
  discard(): Promise<void>;
}

export async function toTakenFile(file: PrivateFile, type: string): Promise<TakenFile> {
  return { bytes: await file.size(), type, read: file.read, discard: file.discard };
}
