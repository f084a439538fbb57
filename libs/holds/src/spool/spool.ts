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

/** A closed segment with so few events left has them written anew, so that they do not keep the others' room. */
const FEW_EVENTS = 100;

/** An event that the process before left behind. */
export interface SpooledEvent {
  id: string;
  json: string;
}

export interface SpoolOptions {
  dir: string;
  maxBytes: number;
  log: Logger;
  /** By which id an event is released. */
  idOf: (json: string) => string;
}

/** An event that waits: where it stands, and its size. */
interface Place {
  segment: number;
  bytes: number;
  isAside: boolean;
}

/**
 * The owner's own disk: completion events wait here until they are released. An appended event survives the process at once and
 * the machine within 50 ms; where the disk fails to flush it, it is written anew to another file, and nothing is taken before that is
 * done. Lines carry a checksum, so that a line torn by a crash is told from an event. Bounded: `isFull` says when no new call may be
 * admitted. A segment goes once all of its events are released.
 */
export class Spool {
  readonly #dir: string;
  readonly #maxBytes: number;
  readonly #log: Logger;
  readonly #idOf: (json: string) => string;
  readonly #segments: Map<number, Segment>;
  #writing: number;
  /** The highest number that a segment has had, or was to have: a disk that refused one may have made its file. */
  #numbered: number;
  #file: FileHandle;
  /** By the ids of events that wait. */
  readonly #places = new Map<string, Place>();
  #waitingBytes = 0;
  /** Bytes of the events that are set aside, which are part of those that wait. */
  #asideBytes = 0;
  #waiting: { events: SpooledEvent[]; resolve: () => void; reject: (error: unknown) => void }[] = [];
  #isWriting = false;
  #flushTimer: NodeJS.Timeout | undefined;
  #flushing: Promise<void> = Promise.resolve();
  /** Events, by id, that are written but may not be on the disk itself yet. */
  readonly #unflushed = new Map<string, string>();
  /** Nobody knows what of the segment is on the disk. The system tells so once: the next flush may succeed without what was lost. */
  #hasFlushFailed = false;
  #isClosed = false;
  #failedAt = Number.NEGATIVE_INFINITY;

  private constructor(
    options: SpoolOptions & {
      segments: Map<number, Segment>;
      writing: number;
      file: FileHandle;
    },
  ) {
    this.#dir = options.dir;
    this.#maxBytes = options.maxBytes;
    this.#log = options.log;
    this.#idOf = options.idOf;
    this.#segments = options.segments;
    this.#writing = options.writing;
    this.#numbered = options.writing;
    this.#file = options.file;
  }

  /**
   * Opens the spool in `dir`, made if missing, and reads what a former run left, in order; new events go to a new segment. `idOf` says
   * by which id an event is released.
   */
  static async open({ dir, maxBytes, log, idOf }: SpoolOptions): Promise<{ spool: Spool; left: SpooledEvent[] }> {
    await mkdir(dir, { recursive: true, mode: 0o700 });
    const segments = new Map<number, Segment>();
    for (const name of (await readdir(dir)).sort()) {
      const number = numberOfSegment(name);
      if (number === undefined) continue;
      const path = join(dir, name);
      segments.set(number, { path, bytes: (await stat(path)).size, events: 0 });
    }
    const former = [...segments.keys()];
    const writing = Math.max(0, ...former) + 1;
    const { path, file } = await createSegment(dir, writing);
    segments.set(writing, { path, bytes: 0, events: 0 });
    const spool = new Spool({ dir, maxBytes, log, idOf, segments, writing, file });
    const left = new Map<string, SpooledEvent>();
    for (const number of former)
      for (const json of await spool.#readSegment(number)) {
        const event = { id: idOf(json), json };
        left.set(event.id, event);
        spool.#place(event, number);
      }
    for (const number of former) await spool.#dropIfDone(number);
    return { spool, left: [...left.values()] };
  }

  /** Size on disk. A segment counts until all of it is released, the newest one for as long as it is written to. */
  get bytes(): number {
    let bytes = 0;
    for (const segment of this.#segments.values()) bytes += segment.bytes;
    return bytes;
  }

  /** Bytes of events that wait to be released. */
  get waitingBytes(): number {
    return this.#waitingBytes;
  }

  /** Whether new calls must be refused: too little room left, or the disk refused a write a moment ago or a flush since then. */
  get isFull(): boolean {
    if (this.#hasFlushFailed) return true;
    const counted = this.bytes - Math.min(this.#asideBytes, this.#maxBytes);
    return counted > this.#maxBytes * FULL_SHARE || performance.now() - this.#failedAt < RECOVERY_MS;
  }

  /** Resolves when the event is with the operating system. Appends under way are written together. */
  append(id: string, json: string): Promise<void> {
    return this.#enqueue([{ id, json }]);
  }

  /** The event need not be kept any more. */
  release(id: string): void {
    const place = this.#places.get(id);
    this.#unflushed.delete(id);
    if (!place) return;
    this.#leave(id, place);
    this.#dropIfDone(place.segment).catch((error: unknown) =>
      this.#log.error({ err: error }, 'spool segment is not removed'),
    );
  }

  /** Keeps an event that the ledger cannot record until it is released. It does not fill the spool, up to the size of a full one. */
  setAside(id: string): void {
    const place = this.#places.get(id);
    if (!place || place.isAside) return;
    place.isAside = true;
    this.#asideBytes += place.bytes;
  }

  isSetAside(id: string): boolean {
    return this.#places.get(id)?.isAside ?? false;
  }

  #place({ id, json }: SpooledEvent, number: number): void {
    const known = this.#places.get(id);
    if (known) this.#leave(id, known);
    const bytes = Buffer.byteLength(json);
    const isAside = known?.isAside ?? false;
    this.#places.set(id, { segment: number, bytes, isAside });
    this.#waitingBytes += bytes;
    if (isAside) this.#asideBytes += bytes;
    const segment = this.#segments.get(number);
    if (segment) segment.events += 1;
  }

  #leave(id: string, { segment: number, bytes, isAside }: Place): void {
    this.#places.delete(id);
    this.#waitingBytes -= bytes;
    if (isAside) this.#asideBytes -= bytes;
    const segment = this.#segments.get(number);
    if (segment) segment.events -= 1;
  }

  async #dropIfDone(number: number): Promise<void> {
    const segment = this.#segments.get(number);
    if (!segment || number === this.#writing || segment.events > 0) return;
    this.#segments.delete(number);
    await unlink(segment.path);
  }

  #enqueue(events: SpooledEvent[]): Promise<void> {
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
      await this.#rotateIfLarge();
    }
    this.#isWriting = false;
  }

  /** Once they are written, those that nobody waits for any more are left out of account. */
  async #writeEvents(events: SpooledEvent[], waits: (event: SpooledEvent) => boolean = () => true): Promise<void> {
    if (events.length === 0) return;
    const segment = this.#segments.get(this.#writing);
    if (!segment) throw new Error('the spool has no segment to write to');
    // A failed write may have left part of a line: a line end keeps the next event whole, and the size is asked for anew.
    const hasFailed = Number.isFinite(this.#failedAt);
    const lines = events.map(({ json }) => toLine(json));
    const bytes = Buffer.concat(hasFailed ? [LINE_END, ...lines] : lines);
    await this.#file.appendFile(bytes);
    segment.bytes = hasFailed ? (await this.#file.stat()).size : segment.bytes + bytes.length;
    this.#failedAt = Number.NEGATIVE_INFINITY;
    for (const event of events.filter(waits)) {
      this.#unflushed.set(event.id, event.json);
      this.#place(event, this.#writing);
    }
    this.#flushTimer ??= setTimeout(() => {
      this.#flushTimer = undefined;
      void this.#flush();
    }, FLUSH_MS);
  }

  /** One flush at a time: of two at once, only one would be told of a failure. */
  #flush(): Promise<void> {
    this.#flushing = this.#flushing.then(async () => {
      const events = [...this.#unflushed.keys()];
      if (events.length === 0 || this.#hasFlushFailed) return;
      try {
        await this.#file.datasync();
        for (const id of events) this.#unflushed.delete(id);
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
    const events = [...this.#unflushed].map(([id, json]) => ({ id, json }));
    const bytes = Buffer.concat(events.map(({ json }) => toLine(json)));
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
    for (const { id } of events) this.#unflushed.delete(id);
    this.#hasFlushFailed = false;
    this.#failedAt = Number.NEGATIVE_INFINITY;
    this.#log.warn({ events: events.length }, 'spool is flushed to disk again, in a new segment');
    await this.#goOnIn({ path, bytes: bytes.length, events: 0 }, file);
    for (const event of events) if (this.#places.has(event.id)) this.#place(event, this.#writing);
    for (const number of [...this.#segments.keys()]) await this.#dropIfDone(number);
  }

  /** From here on events go to this segment, which has the highest number. */
  async #goOnIn(segment: Segment, file: FileHandle): Promise<void> {
    const [former, formerNumber] = [this.#file, this.#writing];
    this.#segments.set(this.#numbered, segment);
    this.#writing = this.#numbered;
    this.#file = file;
    await former.close().catch((error: unknown) => this.#log.error({ err: error }, 'spool segment is not closed'));
    await this.#dropIfDone(formerNumber);
  }

  /** Goes on in a new segment, or for now in the old one where no new one can be made. */
  async #rotateIfLarge(): Promise<void> {
    if ((this.#segments.get(this.#writing)?.bytes ?? 0) < SEGMENT_BYTES) return;
    await this.#flush();
    if (this.#hasFlushFailed) return;
    try {
      this.#numbered += 1;
      const { path, file } = await createSegment(this.#dir, this.#numbered);
      await this.#goOnIn({ path, bytes: 0, events: 0 }, file);
      await this.#moveFew();
    } catch (error) {
      this.#log.error({ err: error }, 'spool cannot go on in a new segment');
    }
  }

  /** Writes the last events of a closed segment anew, as of a call that is never recorded. */
  async #moveFew(): Promise<void> {
    const [number] = [...this.#segments].find(([of, { events }]) => of !== this.#writing && events <= FEW_EVENTS) ?? [];
    if (number === undefined) return;
    const waits = ({ id }: SpooledEvent): boolean => this.#places.get(id)?.segment === number;
    const events = (await this.#readSegment(number)).map((json) => ({ id: this.#idOf(json), json }));
    await this.#writeEvents(events.filter(waits), waits);
    await this.#flush();
    if (!this.#hasFlushFailed) await this.#dropIfDone(number);
  }

  /** Whether nothing waits to be released, or is being written. */
  get isEmpty(): boolean {
    return !this.#isWriting && this.#places.size === 0;
  }

  /** All events of a closed segment. */
  async #readSegment(number: number): Promise<string[]> {
    const segment = this.#segments.get(number);
    if (!segment) throw new Error('spool segment is gone');
    const events: string[] = [];
    for (let offset = 0; offset < segment.bytes; ) offset = await this.#readLines(segment, offset, events);
    return events;
  }

  /** Adds the events of some lines from `offset` on, and says where to go on. */
  async #readLines(segment: Segment, offset: number, events: string[]): Promise<number> {
    const bytes = await readRange(segment.path, offset, Math.min(READ_BYTES, segment.bytes - offset));
    let start = 0;
    for (let end = bytes.indexOf(LINE_END); end !== -1; end = bytes.indexOf(LINE_END, start)) {
      const line = bytes.toString('utf8', start, end);
      const event = readLine(line);
      if (event !== undefined) events.push(event);
      else if (line !== '') this.#reportDamage(segment, offset + start);
      start = end + 1;
    }
    if (start > 0) return offset + start;
    // No line ends here. At the end of a closed segment a crash tore the last one: its call never got its last byte.
    // Elsewhere the disk lost something, and reading goes on behind it.
    this.#reportDamage(segment, offset);
    return offset + Math.max(bytes.length, 1);
  }

  #reportDamage({ path }: Segment, offset: number): void {
    this.#log.error({ segment: path, offset }, 'spool line is damaged and was left out');
  }

  /** Flushes and closes; a spool whose events are all released leaves no file behind. */
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
    if (last?.events === 0) await unlink(last.path);
  }
}
