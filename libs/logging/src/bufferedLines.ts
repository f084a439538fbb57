import { pino } from 'pino';

/** Size of a batch. A pipe takes that much as one. */
const BATCH_BYTES = 4_096;
/** Longest time that a line waits for its batch. */
const BATCH_MS = 1_000;

/** A stream of lines. */
export interface LineStream {
  write(line: string): unknown;
  flushSync(): void;
}

/**
 * Lines of one message, for what is logged of every request. A logger takes three times the processor time, and a system call for each
 * line. Lines are written to standard output in batches, at the latest after a second. A process that is killed loses its last batch.
 */
export class BufferedLines {
  readonly #stream: LineStream;
  readonly #head: string;

  /** `fields` begin every line, as those of `createLogger` do. */
  constructor(
    fields: { service: string; scope: string },
    msg: string,
    // In the order of the calls: a batch of an asynchronous stream could end up within another line of the process.
    stream: LineStream = pino.destination({ dest: 1, sync: true, minLength: BATCH_BYTES, periodicFlush: BATCH_MS }),
  ) {
    this.#stream = stream;
    this.#head = `${JSON.stringify({ level: 'info', ...fields, msg }).slice(0, -1)},"time":"`;
  }

  /** Writes one line. A field that is undefined is left out. `facts` has one field at least. */
  write(facts: object): void {
    this.#stream.write(`${this.#head}${new Date().toISOString()}",${JSON.stringify(facts).slice(1)}\n`);
  }

  /** Writes what waits for its batch. */
  flush(): void {
    this.#stream.flushSync();
  }
}
