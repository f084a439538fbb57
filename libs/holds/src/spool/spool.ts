import { mkdir, open, readdir, rm, stat, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from '@turnpike/logging/createLogger';
import {
  createSegment,
  LINE_END,
  LINE_OVERHEAD_BYTES,
  parseSegmentName,
  readLine,
  readRange,
  type Segment,
  toLine,
  toSegment,
  WatchedDisk,
} from './spoolDisk.ts';

const SEGMENT_BYTES = 1_048_576;
const FLUSH_MS = 50;
const READ_BYTES = 1_048_576;
/** Share of the size at which no new call is admitted, so that those under way still find room. */
const FULL_SHARE = 0.9;
/** How often the spool tries its disk by itself after a failed write or flush. No call is admitted meanwhile. */
const RECOVERY_MS = 1_000;
/** The file by which a disk that refused a write is tried, and its size. */
const PROBE = { name: 'probe', bytes: 65_536 };
/** A closed segment is rewritten once no more than a quarter of it waits: the disk holds at most four times what waits. */
const SPARSE_PART = 4;
/** How long the spool's end waits for its disk. */
const CLOSE_MS = 5_000;

/** An event that the process before left behind. */
export interface SpooledEvent {
  id: string;
  json: string;
}

export interface SpoolOptions {
  dir: string;
  maxBytes: number;
  log: Logger;
  /** Returns the id by which an event is released. */
  idOf: (json: string) => string;
}

/** An event that waits: where it stands, and its sizes alone and as a line. */
interface Place {
  segment: Segment;
  bytes: number;
  lineBytes: number;
  isAside: boolean;
}

/** Events that are written together, for a caller who waits. */
interface Append {
  events: SpooledEvent[];
  /** Whether an event is accounted for once it is written. Each is where this is undefined. */
  waits: ((event: SpooledEvent) => boolean) | undefined;
  /** The caller has an answer already: the disk hangs. What is written all the same is not accounted for. */
  isRefused: boolean;
  resolve: () => void;
  reject: (error: unknown) => void;
}

/**
 * The owner's completion events on its own disk, until they are released. An appended event survives the process at
 * once and the machine within 50 ms. If the disk fails to flush an event, the spool writes it to another file, and
 * accepts no append before that is done. A checksum on each line tells a line torn by a crash from an event.
 * The spool is bounded: `isFull` is true when no new call may be admitted. A segment is removed once all of its events
 * are released, or the few that wait are rewritten elsewhere. While a disk operation takes longer than a second, the
 * spool refuses every append.
 */
export class Spool {
  readonly #dir: string;
  readonly #maxBytes: number;
  readonly #log: Logger;
  readonly #idOf: (json: string) => string;
  readonly #disk: WatchedDisk;
  readonly #segments = new Set<Segment>();
  /** The segment that events are written to. */
  #writing: Segment | undefined;
  /** The segment that follows, which is made beside the writes. */
  #next: Segment | undefined;
  #makingNext: Promise<void> | undefined;
  /** Takes the events that are set aside. */
  #aside: Segment | undefined;
  /** The highest number that a segment has had, or was to have: a disk that refused one may have made its file. */
  #numbered = 0;
  /** Waiting events by id. */
  readonly #places = new Map<string, Place>();
  #waitingBytes = 0;
  #waiting: Append[] = [];
  /** Those that are being written. */
  #underWay: Append[] = [];
  #isWriting = false;
  #writes: Promise<void> = Promise.resolve();
  #flushTimer: NodeJS.Timeout | undefined;
  #flushing: Promise<void> = Promise.resolve();
  /** Events, by id, that are written but may not be on the disk itself yet. */
  readonly #unflushed = new Map<string, { segment: Segment; json: string }>();
  /**
   * True after a failed flush of the segment, whose content on the disk is then unknown. The system reports that once:
   * the next flush may succeed without the lost data.
   */
  #hasFlushFailed = false;
  /** The segment whose waiting events are being rewritten. */
  #rewriting: Segment | undefined;
  #compacting: Promise<void> | undefined;
  #compactionFailedAt = Number.NEGATIVE_INFINITY;
  #isClosed = false;
  #failedAt = Number.NEGATIVE_INFINITY;
  /** Why the disk refused the last write. Undefined once it takes one. */
  #writeFault: string | undefined;
  #isProbing = false;
  #trying: Promise<void> | undefined;

  private constructor({ dir, maxBytes, log, idOf }: SpoolOptions) {
    this.#dir = dir;
    this.#maxBytes = maxBytes;
    this.#log = log;
    this.#idOf = idOf;
    this.#disk = new WatchedDisk({
      onHang: () => this.#refuseAll(),
      onRecovery: () => log.warn('spool disk answers again'),
    });
  }

  /**
   * Opens the spool in `dir`, made if missing, and reads the events that a former run left, in order, those set aside
   * last. New events go to a new segment. `idOf` returns the id by which an event is released.
   */
  static async open(options: SpoolOptions): Promise<{ spool: Spool; left: SpooledEvent[] }> {
    await mkdir(options.dir, { recursive: true, mode: 0o700 });
    const spool = new Spool(options);
    return { spool, left: await spool.#takeUp() };
  }

  async #takeUp(): Promise<SpooledEvent[]> {
    const former: Segment[] = [];
    for (const name of (await readdir(this.#dir)).sort()) {
      const named = parseSegmentName(name);
      if (!named) continue;
      const path = join(this.#dir, name);
      former.push(toSegment(path, (await stat(path)).size, named.isAside));
      this.#numbered = Math.max(this.#numbered, named.number);
    }
    this.#numbered += 1;
    this.#writing = await createSegment((operation) => operation(), this.#dir, this.#numbered);
    const left = new Map<string, SpooledEvent>();
    const asideLast = former.toSorted((a, b) => Number(a.isAside) - Number(b.isAside));
    for (const segment of asideLast) this.#segments.add(segment);
    for (const segment of asideLast)
      for (const json of await this.#readSegment(segment)) {
        const event = { id: this.#idOf(json), json };
        left.set(event.id, event);
        this.#place(event, segment);
      }
    this.#segments.add(this.#writing);
    for (const segment of former) await this.#dropIfDone(segment);
    this.#compact();
    return [...left.values()];
  }

  /** Size on disk by which the spool is full. What is set aside counts from the size of a full spool on. */
  get bytes(): number {
    let [bytes, asideBytes] = [0, 0];
    for (const segment of this.#segments) {
      bytes += segment.bytes;
      asideBytes += segment.isAside ? segment.bytes : segment.asideBytes;
    }
    return bytes - Math.min(asideBytes, this.#maxBytes);
  }

  /** Bytes of events that wait to be released. */
  get waitingBytes(): number {
    return this.#waitingBytes;
  }

  /** Whether the disk takes longer than a second for one operation. */
  get isHung(): boolean {
    return this.#disk.isHung;
  }

  /** Describes to operators why the disk takes no events. Undefined if it takes them, also while the spool is full. */
  get diskFault(): string | undefined {
    if (this.#disk.isHung) return 'hangs: an operation has taken longer than a second';
    if (this.#writeFault !== undefined) return `refuses writes: ${this.#writeFault}`;
    return this.#hasFlushFailed ? 'fails to flush' : undefined;
  }

  /**
   * Whether new calls must be refused. The reasons are too little room, a disk that hangs or refused the last write,
   * and a failed flush whose events are not rewritten yet.
   */
  get isFull(): boolean {
    return this.diskFault !== undefined || this.bytes > this.#maxBytes * FULL_SHARE;
  }

  /** Whether the disk refused the last write. */
  get isRefused(): boolean {
    return this.#writeFault !== undefined;
  }

  /** Whether nothing waits to be released, or is being written. */
  get isEmpty(): boolean {
    return !this.#isWriting && this.#places.size === 0;
  }

  /**
   * Resolves when the operating system has the event. Concurrent appends are written together. Rejects within two
   * seconds if the disk hangs. Such an event may still be in the spool's files, and the next process then finds it.
   */
  append(id: string, json: string): Promise<void> {
    return this.#enqueue([{ id, json }]);
  }

  /** The event need not be kept any more. */
  release(id: string): void {
    const place = this.#places.get(id);
    this.#unflushed.delete(id);
    if (!place) return;
    this.#leave(id, place);
    if (!place.segment.file) void this.#tidy(place.segment);
  }

  /** Keeps an event that the ledger cannot record until it is released. It does not fill the spool, up to the size of a full one. */
  setAside(id: string): void {
    const place = this.#places.get(id);
    if (!place || place.isAside) return;
    place.isAside = true;
    place.segment.waitingBytes -= place.lineBytes;
    place.segment.asideBytes += place.lineBytes;
    if (this.#isSparse(place.segment)) this.#compact();
  }

  isSetAside(id: string): boolean {
    return this.#places.get(id)?.isAside ?? false;
  }

  #place({ id, json }: SpooledEvent, segment: Segment): void {
    const known = this.#places.get(id);
    if (known) this.#leave(id, known);
    const bytes = Buffer.byteLength(json);
    const isAside = segment.isAside || (known?.isAside ?? false);
    const lineBytes = bytes + LINE_OVERHEAD_BYTES;
    this.#places.set(id, { segment, bytes, lineBytes, isAside });
    this.#waitingBytes += bytes;
    segment.events += 1;
    segment[isAside ? 'asideBytes' : 'waitingBytes'] += lineBytes;
  }

  #leave(id: string, { segment, bytes, lineBytes, isAside }: Place): void {
    this.#places.delete(id);
    this.#waitingBytes -= bytes;
    segment.events -= 1;
    segment[isAside ? 'asideBytes' : 'waitingBytes'] -= lineBytes;
  }

  /** Removes a closed segment whose events are released, or has it rewritten if few are not. */
  async #tidy(segment: Segment): Promise<void> {
    await this.#dropIfDone(segment).catch((error: unknown) =>
      this.#log.error({ err: error }, 'spool segment is not removed'),
    );
    if (segment.events > 0 && this.#isSparse(segment)) this.#compact();
  }

  async #dropIfDone(segment: Segment): Promise<void> {
    if (segment.file || segment.events > 0 || segment === this.#rewriting) return;
    if (this.#segments.delete(segment)) await this.#disk.beside(() => unlink(segment.path));
  }

  #enqueue(events: SpooledEvent[], waits?: Append['waits']): Promise<void> {
    if (this.#disk.isHung) return Promise.reject(new Error("the spool's disk hangs"));
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#waiting.push({ events, waits, isRefused: false, resolve, reject });
    if (!this.#isWriting) this.#writes = this.#write();
    return promise;
  }

  /** Rejects all waiting appends. Operations under way go on; the next append after them is written. */
  #refuseAll(): void {
    const refused = [...this.#underWay, ...this.#waiting];
    this.#waiting = [];
    this.#log.error(
      { events: refused.length },
      'ALERT spool disk hangs: its events are kept in Redis, and calls refused',
    );
    for (const append of refused) {
      append.isRefused = true;
      append.reject(new Error("the spool's disk hangs"));
    }
  }

  async #write(): Promise<void> {
    this.#isWriting = true;
    while (this.#waiting.length > 0) {
      const batch = this.#waiting;
      this.#waiting = [];
      this.#underWay = batch;
      try {
        if (this.#hasFlushFailed) await this.#writeAnew();
        if (this.#next) this.#goOnIn(this.#next);
        await this.#writeBatch(batch);
        for (const { resolve } of batch) resolve();
      } catch (error) {
        this.#failedAt = performance.now();
        this.#noteRefusal(error);
        for (const { reject } of batch) reject(error);
      }
      this.#underWay = [];
      const bytes = this.#writing?.bytes ?? 0;
      if (bytes >= SEGMENT_BYTES) this.#makeNext();
      if (bytes >= 2 * SEGMENT_BYTES && !this.isHung) await this.#makingNext;
    }
    this.#isWriting = false;
  }

  /** Notes that the disk refuses writes, and tries it until it takes one, whether or not calls end meanwhile. */
  #noteRefusal(error: unknown): void {
    this.#writeFault =
      (error as NodeJS.ErrnoException).code ?? (error instanceof Error ? error.message : String(error));
    void this.#probe();
  }

  #noteTaken(): void {
    this.#writeFault = undefined;
    this.#log.warn('spool disk takes events again');
  }

  async #probe(): Promise<void> {
    if (this.#isProbing) return;
    this.#isProbing = true;
    while (this.#writeFault !== undefined && !this.#isClosed) {
      await delay(RECOVERY_MS, undefined, { ref: false });
      if (this.isHung || this.#hasFlushFailed || this.#isClosed) continue;
      // A refusal is logged once, where an event was refused.
      this.#trying = this.#tryDisk().then(
        () => {
          if (this.#writeFault !== undefined) this.#noteTaken();
        },
        () => undefined,
      );
      await this.#trying;
    }
    this.#isProbing = false;
  }

  /** Writes a file beside the segments, and removes it. Rejects if the disk does not take it. */
  async #tryDisk(): Promise<void> {
    const path = join(this.#dir, PROBE.name);
    const run = this.#disk.beside.bind(this.#disk);
    await run(() => rm(path, { force: true }));
    const file = await run(() => open(path, 'ax', 0o600));
    try {
      await run(() => file.appendFile(Buffer.alloc(PROBE.bytes)));
      await run(() => file.datasync());
    } finally {
      await run(() => file.close());
      await run(() => rm(path, { force: true }));
    }
  }

  /** Once they are written, those that nobody waits for any more are left out of account. */
  async #writeBatch(batch: Append[]): Promise<void> {
    const lines: Buffer[] = [];
    const written: Append[] = [];
    for (const append of batch) {
      if (append.isRefused) continue;
      written.push(append);
      for (const { json } of append.events) lines.push(toLine(json));
    }
    if (lines.length === 0) return;
    const segment = this.#writing;
    const file = segment?.file;
    if (!file) throw new Error('the spool has no segment to write to');
    // A failed write may have left part of a line: a line end keeps the next event whole, and the size is asked for anew.
    const hasFailed = Number.isFinite(this.#failedAt);
    const bytes = Buffer.concat(hasFailed ? [LINE_END, ...lines] : lines);
    await this.#disk.run(() => file.appendFile(bytes));
    segment.bytes = hasFailed ? (await this.#disk.run(() => file.stat())).size : segment.bytes + bytes.length;
    this.#failedAt = Number.NEGATIVE_INFINITY;
    if (this.#writeFault !== undefined) this.#noteTaken();
    for (const { isRefused, waits, events } of written)
      for (const event of events) {
        if (isRefused || waits?.(event) === false) continue;
        this.#unflushed.set(event.id, { segment, json: event.json });
        this.#place(event, segment);
      }
    this.#flushTimer ??= setTimeout(() => {
      this.#flushTimer = undefined;
      void this.#flush();
    }, FLUSH_MS);
  }

  /**
   * Flushes what is written, and closes each segment that is not written to any more. One flush at a time, because of two at once only
   * one would be told of a failure.
   */
  async #flush(): Promise<void> {
    const before = this.#flushing;
    const { promise, resolve: end } = Promise.withResolvers<void>();
    this.#flushing = promise;
    await before;
    try {
      for (const segment of this.#hasFlushFailed ? [] : [...this.#segments]) {
        const { file, isAside } = segment;
        if (!file || isAside) continue;
        const isWritten = segment !== this.#writing;
        const flushed = new Map<string, { segment: Segment }>();
        for (const [id, unflushed] of this.#unflushed) if (unflushed.segment === segment) flushed.set(id, unflushed);
        if (flushed.size > 0) await this.#disk.beside(() => file.datasync());
        for (const [id, unflushed] of flushed) if (this.#unflushed.get(id) === unflushed) this.#unflushed.delete(id);
        if (isWritten) await this.#closeSegment(segment);
      }
    } catch (error) {
      this.#hasFlushFailed = true;
      this.#log.error(
        { err: error, events: this.#unflushed.size },
        'spool cannot be flushed to disk; events are written anew',
      );
      void this.#recover();
    } finally {
      end();
    }
  }

  async #closeSegment(segment: Segment): Promise<void> {
    const { file } = segment;
    if (!file) return;
    segment.file = undefined;
    await this.#disk
      .beside(() => file.close())
      .catch((error: unknown) => this.#log.error({ err: error }, 'spool segment is not closed'));
    await this.#tidy(segment);
  }

  /** Writes anew what may be lost, again and again until the disk takes it, whether or not calls end meanwhile. */
  async #recover(): Promise<void> {
    while (this.#hasFlushFailed && !this.#isClosed)
      await this.#enqueue([]).catch(() => delay(RECOVERY_MS, undefined, { ref: false }));
  }

  /** Seals segments whose content on disk is unknown after a failed flush. Writes and flushes their events to a new segment. */
  async #writeAnew(): Promise<void> {
    const run = this.#disk.run.bind(this.#disk);
    const events = [...this.#unflushed].map(([id, { json }]) => ({ id, json }));
    const bytes = Buffer.concat(events.map(({ json }) => toLine(json)));
    this.#numbered += 1;
    const segment = await createSegment(run, this.#dir, this.#numbered);
    try {
      await run(() => segment.file.appendFile(bytes));
      await run(() => segment.file.datasync());
    } catch (error) {
      await run(() => segment.file.close());
      await run(() => rm(segment.path, { force: true }));
      throw error;
    }
    for (const { id } of events) this.#unflushed.delete(id);
    this.#hasFlushFailed = false;
    this.#failedAt = Number.NEGATIVE_INFINITY;
    this.#writeFault = undefined;
    this.#log.warn({ events: events.length }, 'spool is flushed to disk again, in a new segment');
    segment.bytes = bytes.length;
    this.#segments.add(segment);
    this.#writing = segment;
    for (const event of events) if (this.#places.has(event.id)) this.#place(event, segment);
    // Closes the segments before, which have no unflushed event left.
    void this.#flush();
  }

  /** Makes the next segment, beside the writes. Where it cannot be made, this one grows. */
  #makeNext(): void {
    if (this.#next || this.#makingNext || this.#isClosed) return;
    this.#numbered += 1;
    this.#makingNext = createSegment((operation) => this.#disk.beside(operation), this.#dir, this.#numbered)
      .then((segment) => {
        this.#next = segment;
      })
      .catch((error: unknown) => this.#log.error({ err: error }, 'spool cannot go on in a new segment'))
      .finally(() => {
        this.#makingNext = undefined;
      });
  }

  /** From here on events go to the next segment. The one before is flushed and closed beside the writes. */
  #goOnIn(next: Segment): void {
    this.#next = undefined;
    this.#segments.add(next);
    this.#writing = next;
    // A line that was cut short is in the file before.
    this.#failedAt = Number.NEGATIVE_INFINITY;
    void this.#flush();
  }

  #isSparse(segment: Segment): boolean {
    if (segment.file || segment.isDamaged) return false;
    const keptBytes = segment.isAside ? segment.asideBytes : segment.waitingBytes;
    return keptBytes * SPARSE_PART <= segment.bytes;
  }

  /** Rewrites one segment after another of which little waits, beside the writes. */
  #compact(): void {
    const hasFailed = performance.now() - this.#compactionFailedAt < RECOVERY_MS;
    if (this.#compacting || this.#isClosed || hasFailed) return;
    this.#compacting = this.#rewriteSparse()
      .catch((error: unknown) => {
        this.#compactionFailedAt = performance.now();
        if (!this.isHung) this.#log.error({ err: error }, 'spool segment is not rewritten; it is tried again');
      })
      .finally(() => {
        this.#rewriting = undefined;
        this.#compacting = undefined;
      });
  }

  async #rewriteSparse(): Promise<void> {
    while (!this.#isClosed) {
      const segment = [...this.#segments].find((each) => this.#isSparse(each));
      if (!segment) return;
      this.#rewriting = segment;
      await this.#rewrite(segment);
      segment.isDamaged = segment.events > 0;
      this.#rewriting = undefined;
      await this.#dropIfDone(segment);
    }
  }

  /** Writes what waits of a closed segment to others, page by page, and flushes it. Before that, the segment must not go. */
  async #rewrite(segment: Segment): Promise<void> {
    const waits = ({ id }: SpooledEvent): boolean => this.#places.get(id)?.segment === segment;
    for (let offset = 0; offset < segment.bytes && segment.events > 0; ) {
      const page: string[] = [];
      offset = await this.#readLines(segment, offset, page);
      const events = page.map((json) => ({ id: this.#idOf(json), json })).filter(waits);
      const aside = events.filter(({ id }) => this.isSetAside(id));
      if (aside.length > 0) await this.#writeAside(aside, waits);
      const others = events.filter(({ id }) => !this.isSetAside(id));
      if (others.length > 0) await this.#enqueue(others, waits);
    }
    await this.#flush();
    if (this.#hasFlushFailed) throw new Error('the spool cannot be flushed');
  }

  /** Writes and flushes events to a segment that holds nothing else. */
  async #writeAside(events: SpooledEvent[], waits: (event: SpooledEvent) => boolean): Promise<void> {
    const segment = this.#aside ?? (await this.#makeAside());
    const { file } = segment;
    if (!file) throw new Error('the spool has no segment for what is set aside');
    const bytes = Buffer.concat(events.map(({ json }) => toLine(json)));
    // Part of it may be written where the disk refuses it.
    segment.bytes += bytes.length;
    try {
      await this.#disk.beside(() => file.appendFile(bytes));
      await this.#disk.beside(() => file.datasync());
      for (const event of events.filter(waits)) this.#place(event, segment);
      if (segment.bytes >= SEGMENT_BYTES) await this.#endAside(segment);
    } catch (error) {
      await this.#endAside(segment);
      throw error;
    }
  }

  async #makeAside(): Promise<Segment> {
    this.#numbered += 1;
    const segment = await createSegment((operation) => this.#disk.beside(operation), this.#dir, this.#numbered, true);
    this.#segments.add(segment);
    this.#aside = segment;
    return segment;
  }

  #endAside(segment: Segment): Promise<void> {
    this.#aside = undefined;
    return this.#closeSegment(segment);
  }

  /** All events of a closed segment. */
  async #readSegment(segment: Segment): Promise<string[]> {
    const events: string[] = [];
    for (let offset = 0; offset < segment.bytes; ) offset = await this.#readLines(segment, offset, events);
    return events;
  }

  /** Adds the events of some lines from `offset` on, and says where to go on. */
  async #readLines(segment: Segment, offset: number, events: string[]): Promise<number> {
    const length = Math.min(READ_BYTES, segment.bytes - offset);
    const bytes = await readRange((operation) => this.#disk.beside(operation), segment.path, offset, length);
    if (bytes.length === 0) return segment.bytes;
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
    return offset + bytes.length;
  }

  #reportDamage({ path }: Segment, offset: number): void {
    this.#log.error({ segment: path, offset }, 'spool line is damaged and was left out');
  }

  /** Flushes and closes; a spool whose events are all released leaves no file behind. Rejects where the disk hangs. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#flushTimer);
    const late = Promise.withResolvers<never>();
    const timer = setTimeout(() => late.reject(new Error("the spool's disk hangs: it is not closed")), CLOSE_MS);
    await Promise.race([this.#finish(), late.promise]).finally(() => clearTimeout(timer));
  }

  async #finish(): Promise<void> {
    await Promise.all([this.#compacting, this.#makingNext, this.#trying]);
    // A write whose callers were refused, or that writes anew, may make a file that the next process would meet.
    await this.#writes;
    await this.#flush();
    try {
      if (this.#hasFlushFailed && this.#unflushed.size > 0) await this.#enqueue([]);
    } finally {
      if (this.#next) this.#goOnIn(this.#next);
      this.#writing = undefined;
      await this.#flushing;
      for (const segment of [...this.#segments]) await this.#closeSegment(segment);
      // Segments that were released a moment ago are being removed.
      await this.#disk.beside(() => Promise.resolve());
    }
  }
}

/** Closes the spool for the process' end. Rejects where its disk hangs, and lets the process end all the same. */
export async function closeSpool(spool: Pick<Spool, 'close' | 'isHung'>): Promise<void> {
  try {
    await spool.close();
  } finally {
    // Node waits at its exit for all threads of its pool, so also for one that hangs. SIGKILL waits for none.
    if (spool.isHung) process.once('exit', () => spool.isHung && process.kill(process.pid, 'SIGKILL'));
  }
}
