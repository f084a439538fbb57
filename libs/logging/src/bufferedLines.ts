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
  /** Batches that are not written yet. Lines are added to the last one until it is full. */
  readonly #batches: string[] = [];
  #lastBytes = 0;
  /** Runs while lines wait. */
  #timer: NodeJS.Timeout | undefined;

  /** `fields` begin every line, as those of `createLogger` do. */
  constructor(fields: { service: string; scope: string }, msg: string) {
    this.#head = `${JSON.stringify({ level: 'info', ...fields, msg }).slice(0, -1)},"time":"`;
  }

  /** Writes one line, and says whether there was room for it. A field that is undefined is left out. `facts` has one field at least. */
  write(facts: object): boolean {
    if (this.#batches.length > MOST_WAITING) return false;
    const line = `${this.#head}${new Date().toISOString()}",${JSON.stringify(facts).slice(1)}\n`;
    const bytes = Buffer.byteLength(line);
    const isFull = this.#lastBytes + bytes > PIPE_BYTES;
    if (isFull) this.#writeAll();
    const last = this.#batches.length - 1;
    if (isFull || last < 0) {
      this.#batches.push(line);
      this.#lastBytes = bytes;
    } else {
      this.#batches[last] += line;
      this.#lastBytes += bytes;
    }
    this.#timer ??= setTimeout(() => {
      if (this.#writeAll()) this.#timer = undefined;
      else this.#timer?.refresh();
    }, BATCH_MS).unref();
    return true;
  }

  /** Writes what waits. Gives up on a reader that does not read within two seconds. */
  async flush(): Promise<void> {
    for (let attempt = 0; attempt < LAST_ATTEMPTS && !this.#writeAll(); attempt += 1) await sleep(BATCH_MS);
  }

  /** Writes what waits, as far as there is room. Says whether that was all. */
  #writeAll(): boolean {
    let written = 0;
    try {
      for (const batch of this.#batches) {
        writeSync(this.#fd, batch);
        written += 1;
      }
    } catch {
      // Full, or without a reader: tried again later.
    }
    this.#batches.splice(0, written);
    return this.#batches.length === 0;
  }
}
