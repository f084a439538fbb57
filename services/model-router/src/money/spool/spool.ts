import { type FileHandle, mkdir, readdir, rm, stat, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from '@turnpike/logging/createLogger';
import { createSegment, LINE_END, numberOfSegment, readLine, readRange, type Segment, toLine } from './spoolSegment.ts';

const SEGMENT_BYTES = 4 * 1_048_576;
const FLUSH_MS = 50;
const READ_BYTES = 1_048_576;
/** Share of the size at which no new call is admitted, so that those under way still find room. */
const FULL_SHARE = 0.9;
/**
 * After a failed write no call is admitted for this long; then the next one tries the disk again. After a failed flush the
 * spool tries by itself, so often.
 */
const RECOVERY_MS = 1_000;

/** The read position: everything before it is safe in the event log. */
interface ReadPosition {
  segment: number;
  offset: number;
}

export interface SpoolBatch {
  /** Event JSON texts in the order they were appended. */
  events: string[];
  /** Says that the event log has them; segments read to their end are deleted. */
  acknowledge(): Promise<void>;
}

/**
 * The router's own disk: completion events wait here until the event log has acknowledged them. An appended event
 * survives the process at once and the machine within 50 ms; where the disk fails to flush it, it is written anew to another
 * file, and nothing is taken before that is done. Lines carry a checksum, so that a line torn by a crash is told from an event.
 * Bounded: `isFull` says when no new call may be admitted.
 */
export class Spool {
  readonly #dir: string;
  readonly #maxBytes: number;
  readonly #log: Logger;
  readonly #segments: Map<number, Segment>;
  #writing: number;
  /** The highest number that a segment has had, or was to have: a disk that refused one may have made its file. */
  #numbered: number;
  #file: FileHandle;
  #read: ReadPosition;
  #waiting: { events: string[]; resolve: () => void; reject: (error: unknown) => void }[] = [];
  #isWriting = false;
  #flushTimer: NodeJS.Timeout | undefined;
  #flushing: Promise<void> = Promise.resolve();
  /** Events that are written but may not be on the disk itself yet, and that the event log has not acknowledged. */
  readonly #unflushed = new Set<string>();
  /** Nobody knows what of the segment is on the disk. The system tells so once: the next flush may succeed without what was lost. */
  #hasFlushFailed = false;
  #isClosed = false;
  #onAppend: (() => void) | undefined;
  #failedAt = Number.NEGATIVE_INFINITY;

  private constructor(options: {
    dir: string;
    maxBytes: number;
    log: Logger;
    segments: Map<number, Segment>;
    writing: number;
    file: FileHandle;
  }) {
    this.#dir = options.dir;
    this.#maxBytes = options.maxBytes;
    this.#log = options.log;
    this.#segments = options.segments;
    this.#writing = options.writing;
    this.#numbered = options.writing;
    this.#file = options.file;
    this.#read = { segment: Math.min(...options.segments.keys()), offset: 0 };
  }

  /** Opens the spool in `dir`, made if missing. What a former run left is read first; new events go to a new segment. */
  static async open({ dir, maxBytes, log }: { dir: string; maxBytes: number; log: Logger }): Promise<Spool> {
    await mkdir(dir, { recursive: true, mode: 0o700 });
    const segments = new Map<number, Segment>();
    for (const name of (await readdir(dir)).sort()) {
      const number = numberOfSegment(name);
      if (number === undefined) continue;
      const path = join(dir, name);
      segments.set(number, { path, bytes: (await stat(path)).size });
    }
    const writing = Math.max(0, ...segments.keys()) + 1;
    const { path, file } = await createSegment(dir, writing);
    segments.set(writing, { path, bytes: 0 });
    return new Spool({ dir, maxBytes, log, segments, writing, file });
  }

  /** Size on disk. A segment counts until all of it is acknowledged, the newest one for as long as it is written to. */
  get bytes(): number {
    let bytes = 0;
    for (const segment of this.#segments.values()) bytes += segment.bytes;
    return bytes;
  }

  /** Bytes that wait for the event log's acknowledgement. */
  get unacknowledgedBytes(): number {
    return this.bytes - this.#read.offset; // segments before the one that is read are gone
  }

  /** Whether new calls must be refused: too little room left, or the disk refused a write a moment ago or a flush since then. */
  get isFull(): boolean {
    if (this.#hasFlushFailed) return true;
    return this.bytes > this.#maxBytes * FULL_SHARE || performance.now() - this.#failedAt < RECOVERY_MS;
  }

  /** Resolves when the event is with the operating system. Appends under way are written together. */
  append(eventJson: string): Promise<void> {
    return this.#enqueue([eventJson]);
  }

  #enqueue(events: string[]): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ events, resolve, reject });
      if (!this.#isWriting) void this.#write();
    });
  }

  async #write(): Promise<void> {
    this.#isWriting = true;
    while (this.#waiting.length > 0) {
      const batch = this.#waiting;
      this.#waiting = [];
      try {
        if (this.#hasFlushFailed) await this.#writeAnew();
        await this.#writeEvents(batch.flatMap(({ events }) => events));
        for (const { resolve } of batch) resolve();
      } catch (error) {
        this.#failedAt = performance.now();
        for (const { reject } of batch) reject(error);
      }
      this.#onAppend?.();
      await this.#rotateIfLarge();
    }
    this.#isWriting = false;
  }

  async #writeEvents(events: string[]): Promise<void> {
    if (events.length === 0) return;
    const segment = this.#segments.get(this.#writing);
    if (!segment) throw new Error('the spool has no segment to write to');
    // A failed write may have left part of a line: a line end keeps the next event whole, and the size is asked for anew.
    const hasFailed = Number.isFinite(this.#failedAt);
    const lines = events.map(toLine);
    const bytes = Buffer.concat(hasFailed ? [LINE_END, ...lines] : lines);
    await this.#file.appendFile(bytes);
    segment.bytes = hasFailed ? (await this.#file.stat()).size : segment.bytes + bytes.length;
    this.#failedAt = Number.NEGATIVE_INFINITY;
    for (const event of events) this.#unflushed.add(event);
    this.#flushTimer ??= setTimeout(() => {
      this.#flushTimer = undefined;
      void this.#flush();
    }, FLUSH_MS);
  }

  /** One flush at a time: of two at once, only one would be told of a failure. */
  #flush(): Promise<void> {
    this.#flushing = this.#flushing.then(async () => {
      const events = [...this.#unflushed];
      if (events.length === 0 || this.#hasFlushFailed) return;
      try {
        await this.#file.datasync();
        for (const event of events) this.#unflushed.delete(event);
      } catch (error) {
        this.#hasFlushFailed = true;
        this.#log.error(
          { err: error, events: events.length },
          'spool cannot be flushed to disk; events are written anew',
        );
        void this.#recover();
      }
    });
    return this.#flushing;
  }

  /** Writes anew what may be lost, again and again until the disk takes it, whether or not calls end meanwhile. */
  async #recover(): Promise<void> {
    while (this.#hasFlushFailed && !this.#isClosed)
      await this.#enqueue([]).catch(() => delay(RECOVERY_MS, undefined, { ref: false }));
  }

  /** Seals the segment of which nobody knows what is on the disk, and goes on in a new one, flushed, with what may be lost. */
  async #writeAnew(): Promise<void> {
    const events = [...this.#unflushed];
    const bytes = Buffer.concat(events.map(toLine));
    this.#numbered += 1;
    const { path, file } = await createSegment(this.#dir, this.#numbered);
    try {
      await file.appendFile(bytes);
      await file.datasync();
    } catch (error) {
      await file.close();
      await rm(path, { force: true });
      throw error;
    }
    for (const event of events) this.#unflushed.delete(event);
    this.#hasFlushFailed = false;
    this.#failedAt = Number.NEGATIVE_INFINITY;
    this.#log.warn({ events: events.length }, 'spool is flushed to disk again, in a new segment');
    await this.#goOnIn({ path, bytes: bytes.length }, file);
  }

  /** From here on events go to this segment, which has the highest number. */
  async #goOnIn(segment: Segment, file: FileHandle): Promise<void> {
    const former = this.#file;
    this.#segments.set(this.#numbered, segment);
    this.#writing = this.#numbered;
    this.#file = file;
    await former.close().catch((error: unknown) => this.#log.error({ err: error }, 'spool segment is not closed'));
  }

  /** Goes on in a new segment, or for now in the old one where no new one can be made. */
  async #rotateIfLarge(): Promise<void> {
    if ((this.#segments.get(this.#writing)?.bytes ?? 0) < SEGMENT_BYTES) return;
    await this.#flush();
    if (this.#hasFlushFailed) return;
    try {
      this.#numbered += 1;
      const { path, file } = await createSegment(this.#dir, this.#numbered);
      await this.#goOnIn({ path, bytes: 0 }, file);
    } catch (error) {
      this.#log.error({ err: error }, 'spool cannot go on in a new segment');
    }
  }

  /** Whether events wait that the event log has not acknowledged, or are being written. */
  get hasUnread(): boolean {
    if (this.#isWriting || (this.#hasFlushFailed && this.#unflushed.size > 0)) return true;
    const bytes = this.#segments.get(this.#read.segment)?.bytes ?? 0;
    return this.#read.segment !== this.#writing || this.#read.offset < bytes;
  }

  /** Resolves when there is something to read, or after `timeoutMs`. */
  waitForAppend(timeoutMs: number): Promise<void> {
    return new Promise((resolve) => {
      if (this.hasUnread) return resolve();
      const timer = setTimeout(finish, timeoutMs);
      const self = this;
      function finish(): void {
        clearTimeout(timer);
        self.#onAppend = undefined;
        resolve();
      }
      this.#onAppend = finish;
    });
  }

  /** The next unread events, at most `maxEvents`; undefined when all are read. Read again until acknowledged. */
  async readBatch(maxEvents: number): Promise<SpoolBatch | undefined> {
    const { segment: number, offset } = this.#read;
    const segment = this.#segments.get(number);
    if (!segment) throw new Error('spool segment is gone');
    const isClosed = number !== this.#writing;
    if (isClosed && offset >= segment.bytes) {
      await this.#dropSegment(number);
      return this.readBatch(maxEvents);
    }
    const { events, nextOffset } = await this.#readLines(segment, { offset, maxEvents, isClosed });
    if (nextOffset === offset) return undefined;
    return {
      events,
      acknowledge: async () => {
        for (const event of events) this.#unflushed.delete(event);
        this.#read.offset = nextOffset;
        if (number !== this.#writing && nextOffset >= segment.bytes) await this.#dropSegment(number);
      },
    };
  }

  async #dropSegment(number: number): Promise<void> {
    const path = this.#segments.get(number)?.path;
    this.#segments.delete(number);
    this.#read = { segment: Math.min(...this.#segments.keys()), offset: 0 };
    if (path) await unlink(path);
  }

  async #readLines(
    segment: Segment,
    { offset, maxEvents, isClosed }: { offset: number; maxEvents: number; isClosed: boolean },
  ): Promise<{ events: string[]; nextOffset: number }> {
    const length = Math.min(READ_BYTES, segment.bytes - offset);
    if (length <= 0) return { events: [], nextOffset: offset };
    const bytes = await readRange(segment.path, offset, length);
    const events: string[] = [];
    let start = 0;
    while (events.length < maxEvents) {
      const end = bytes.indexOf(LINE_END, start);
      if (end === -1) break;
      const line = bytes.toString('utf8', start, end);
      const event = readLine(line);
      if (event !== undefined) events.push(event);
      else if (line !== '') this.#reportDamage(segment, offset + start);
      start = end + 1;
    }
    if (start > 0 || (!isClosed && length < READ_BYTES)) return { events, nextOffset: offset + start };
    // No line ends here. At the end of a closed segment a crash tore the last one: its call never got its last byte.
    // Elsewhere the disk lost something, and reading goes on behind it.
    this.#reportDamage(segment, offset);
    return { events, nextOffset: offset + length };
  }

  #reportDamage({ path }: Segment, offset: number): void {
    this.#log.error({ segment: path, offset }, 'spool line is damaged and was left out');
  }

  /** Flushes and closes; a spool whose events are all acknowledged leaves no file behind. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#flushTimer);
    await this.#flush();
    try {
      if (this.#hasFlushFailed && this.#unflushed.size > 0) await this.#enqueue([]);
    } finally {
      await this.#file.close();
    }
    const last = this.#segments.get(this.#writing);
    if (last && this.#read.segment === this.#writing && this.#read.offset >= last.bytes) await unlink(last.path);
  }
}
