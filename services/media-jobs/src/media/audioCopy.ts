import type { Readable } from 'node:stream';
import { createPrivateFile, type PrivateFile } from './privateFile.ts';

const LARGEST_BYTES = 32 * 1_048_576;
/** A disk that is so far behind is not waited for. */
const MOST_WAITING_BYTES = 8 * 1_048_576;

/** A copy of audio in a file without a name, written as the audio passes. The audio waits for no disk. */
export class AudioCopy {
  readonly #file: PrivateFile;
  #bytes = 0;
  #waitingBytes = 0;
  #isLost = false;
  #written: Promise<void> = Promise.resolve();

  constructor(file: PrivateFile) {
    this.#file = file;
  }

  async *pass(audio: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    for await (const piece of audio) {
      this.#write(piece);
      yield piece;
    }
  }

  #write(piece: Buffer): void {
    this.#bytes += piece.length;
    if (this.#bytes > LARGEST_BYTES || this.#waitingBytes > MOST_WAITING_BYTES) this.#isLost = true;
    if (this.#isLost) return;
    this.#waitingBytes += piece.length;
    this.#written = this.#written
      .then(() => this.#file.handle.appendFile(piece))
      .catch(() => {
        this.#isLost = true;
      })
      .finally(() => {
        this.#waitingBytes -= piece.length;
      });
  }

  /** Reads what has passed. Rejects where the disk did not take all of it, or where it is too large. */
  async read(): Promise<Readable> {
    await this.#written;
    if (this.#isLost) throw new Error('the copy of an answer is not whole');
    return this.#file.read();
  }

  discard(): void {
    this.#file.discard().catch(() => {});
  }
}

/** Opens a copy in a file on the disk of a folder. */
export const openAudioCopy = async (folder: string): Promise<AudioCopy> =>
  new AudioCopy(await createPrivateFile(folder));
