import { type FileHandle, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';

/** One file of the spool: lines of a checksum and an event. */
export interface Segment {
  path: string;
  /** Holds events that are set aside, and no others. */
  isAside: boolean;
  /** Open for as long as the segment is written to or not flushed. */
  file: FileHandle | undefined;
  /** How much of the file is known to be written. */
  bytes: number;
  /** How many of its events wait to be released. */
  events: number;
  /** The lines of those among them that are set aside, and of the others. */
  asideBytes: number;
  waitingBytes: number;
  /** Events of it could not be read when it was rewritten. */
  isDamaged: boolean;
}

/** Runs one operation of the disk. */
export type RunOperation = <T>(operation: () => Promise<T>) => Promise<T>;

export const LINE_END = Buffer.from('\n');
const CHECKSUM_LENGTH = 8;
/** Bytes of a line beside its event: checksum, space and line end. */
export const LINE_OVERHEAD_BYTES = CHECKSUM_LENGTH + 2;

/** Parses the file name of a segment. Undefined for another file. */
export function parseSegmentName(fileName: string): { number: number; isAside: boolean } | undefined {
  const [, digits, kind] = /^(\d{10})\.(spool|aside)$/.exec(fileName) ?? [];
  return digits === undefined ? undefined : { number: Number(digits), isAside: kind === 'aside' };
}

export const toSegment = (path: string, bytes: number, isAside: boolean, file?: FileHandle): Segment => ({
  path,
  isAside,
  file,
  bytes,
  events: 0,
  asideBytes: 0,
  waitingBytes: 0,
  isDamaged: false,
});

/** Makes an empty segment whose name, too, survives the machine. */
export async function createSegment(
  run: RunOperation,
  dir: string,
  number: number,
  isAside = false,
): Promise<Segment & { file: FileHandle }> {
  const path = join(dir, `${String(number).padStart(10, '0')}.${isAside ? 'aside' : 'spool'}`);
  const file = await run(() => open(path, 'ax', 0o600));
  try {
    const folder = await run(() => open(dir, 'r'));
    await run(() => folder.sync()).finally(() => run(() => folder.close()));
    return { ...toSegment(path, 0, isAside), file };
  } catch (error) {
    await run(() => file.close());
    // The file is still empty, and each further try would leave one more.
    await run(() => rm(path, { force: true }));
    throw error;
  }
}

export const toLine = (eventJson: string): Buffer => Buffer.from(`${checksumOf(eventJson)} ${eventJson}\n`);

/** The event of a line; undefined if a byte of it is not as it was written. */
export function readLine(line: string): string | undefined {
  const eventJson = line.slice(CHECKSUM_LENGTH + 1);
  return line.startsWith(`${checksumOf(eventJson)} `) ? eventJson : undefined;
}

const checksumOf = (text: string): string => crc32(text).toString(16).padStart(CHECKSUM_LENGTH, '0');

export async function readRange(run: RunOperation, path: string, offset: number, length: number): Promise<Buffer> {
  const file = await run(() => open(path, 'r'));
  try {
    const { buffer, bytesRead } = await run(() => file.read(Buffer.allocUnsafe(length), 0, length, offset));
    return buffer.subarray(0, bytesRead);
  } finally {
    await run(() => file.close());
  }
}

/** How long one operation may take before its disk counts as hung. */
const HUNG_AFTER_MS = 1_000;
/** The rest of that time is measured anew, so that a process that was frozen sees first what ended meanwhile. */
const LOOK_AGAIN_MS = 100;

interface HangEvents {
  onHang(): void;
  onRecovery(): void;
}

/**
 * Runs the operations of a spool on its disk and watches how long each takes. An operation cannot be aborted, so it is waited for, however
 * long. At most two are under way, because each that hangs keeps one of the four threads of libuv: one write, and one beside the writes.
 */
export class WatchedDisk {
  /** Whether an operation has been under way for longer than a second. */
  isHung = false;
  readonly #events: HangEvents;
  #overdue = 0;
  #beside: Promise<unknown> = Promise.resolve();

  constructor(events: HangEvents) {
    this.#events = events;
  }

  /** Runs an operation that its caller waits for before the next one. */
  async run<T>(operation: () => Promise<T>): Promise<T> {
    let isOverdue = false;
    const overdue = (): void => {
      isOverdue = true;
      this.#overdue += 1;
      this.isHung = true;
      if (this.#overdue === 1) this.#events.onHang();
    };
    let timer = setTimeout(() => {
      timer = setTimeout(overdue, LOOK_AGAIN_MS);
    }, HUNG_AFTER_MS - LOOK_AGAIN_MS);
    try {
      return await operation();
    } finally {
      clearTimeout(timer);
      if (isOverdue) {
        this.#overdue -= 1;
        this.isHung = this.#overdue > 0;
        if (!this.isHung) this.#events.onRecovery();
      }
    }
  }

  /** Runs an operation beside the writes, once those that came before it have ended. */
  beside<T>(operation: () => Promise<T>): Promise<T> {
    const ended = this.#beside.then(() => this.run(operation));
    this.#beside = ended.catch(() => undefined);
    return ended;
  }
}
