import { writeSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { PIPE_BYTES } from './createLogger.ts';

/** Longest time that a line waits for its batch, and that batches wait for another attempt to write them. */
const BATCH_MS = 100;
/** Most full batches that wait for room, a MiB. */
const MOST_WAITING = 256;
/** Attempts at the end: as many as write a MiB to a pipe of the usual 64 KiB whose reader reads. */
const LAST_ATTEMPTS = 20;

/**
 * Lines of one message, for what is logged of every request. A logger takes three times the processor time, and a system call for each
 * line. Lines are written to standard output in batches, at the latest after 100 ms. A process that is killed loses its last batch.
 * A reader that stops reading holds up no request: batches wait in memory, and further lines are left out.
 */
export class BufferedLines {
  readonly #head: string;
  // To look at `process.stdout` opens it, and with that a pipe refuses what it has no room for. A logger does so too.
  readonly #fd = process.stdout.fd;
  /** Batches that standard output had no room for yet. */
  readonly #waiting: string[] = [];
  #batch = '';
  #batchBytes = 0;
  /** Runs while lines wait. */
  #timer: NodeJS.Timeout | undefined;

  /** `fields` begin every line, as those of `createLogger` do. */
  constructor(fields: { service: string; scope: string }, msg: string) {
    this.#head = `${JSON.stringify({ level: 'info', ...fields, msg }).slice(0, -1)},"time":"`;
  }

  /** Writes one line, and says whether there was room for it. A field that is undefined is left out. `facts` has one field at least. */
  write(facts: object): boolean {
    if (this.#waiting.length >= MOST_WAITING) return false;
    const line = `${this.#head}${new Date().toISOString()}",${JSON.stringify(facts).slice(1)}\n`;
    const bytes = Buffer.byteLength(line);
    if (this.#batchBytes + bytes > PIPE_BYTES) {
      this.#endBatch();
      this.#writeWaiting();
    }
    this.#batch += line;
    this.#batchBytes += bytes;
    this.#writeSoon();
    return true;
  }

  #writeSoon(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      if (!this.#writeAll()) this.#writeSoon();
    }, BATCH_MS).unref();
  }

  /** Writes what waits. Gives up on a reader that does not read within two seconds. */
  async flush(): Promise<void> {
    for (let attempt = 0; attempt < LAST_ATTEMPTS && !this.#writeAll(); attempt += 1) await sleep(BATCH_MS);
  }

  /** Writes what waits and the batch that is not full, as far as there is room. Says whether that was all. */
  #writeAll(): boolean {
    if (!this.#writeWaiting()) return false;
    if (this.#batch === '') return true;
    this.#endBatch();
    return this.#writeWaiting();
  }

  #endBatch(): void {
    this.#waiting.push(this.#batch);
    this.#batch = '';
    this.#batchBytes = 0;
  }

  #writeWaiting(): boolean {
    let written = 0;
    try {
      for (const batch of this.#waiting) {
        writeSync(this.#fd, batch);
        written += 1;
      }
    } catch {
      // Full, or without a reader: tried again later.
    }
    this.#waiting.splice(0, written);
    return this.#waiting.length === 0;
  }
}
