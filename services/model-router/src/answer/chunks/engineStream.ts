import type { EngineFault } from '../../api/inferenceFault.ts';
import type { EngineErrorKind } from '../../engines/terms/attemptResult.ts';
import type { EngineUsage } from '../../money/call/openCalls.ts';
import { ChunkEditor, type ChunkEditorOptions } from './chunkEditor.ts';

/** What a stream comes to once its engine has said its last word. */
export type StreamEnd =
  /** `usage` is the engine's count for all of it, if it gave one; `lastEvents` are what its client has yet to get. */
  | { kind: 'whole'; usage: EngineUsage | undefined; lastEvents: Buffer }
  /** `broken` where it is a sign that the engine may be unwell. */
  | { kind: 'failed'; fault: EngineFault; reason: string; broken?: EngineErrorKind }
  /** The model's tool calls cannot be shown; what came before them was sound. */
  | { kind: 'unshowable' };

/** What some of an engine's bytes come to: events for the client and, after them, perhaps the end. */
export interface StreamStep {
  events: Buffer[];
  end: StreamEnd | undefined;
}

export interface EngineStreamOptions extends ChunkEditorOptions {
  toFault: (status: number, body: Buffer) => EngineFault;
}

type Failure = Extract<StreamEnd, { kind: 'failed' }>;
const failed = (fault: EngineFault, reason: string): Failure => ({ kind: 'failed', fault, reason });
const failedItself = (reason: string): Failure => failed({ kind: 'engine_failed' }, reason);
const NO_TOOL_CALLED = failed({ kind: 'forced_tool_not_called' }, 'forced_tool_not_called');

/**
 * Reads an engine's stream, in whatever sizes its bytes arrive, into events for the client. It ends once, and is whole only
 * if the engine finished, said so, and kept to a forced tool choice. Nothing of it need be read after that.
 */
export class EngineStream {
  readonly #parser = new SseParser();
  readonly #editor: ChunkEditor;
  readonly #toFault: EngineStreamOptions['toFault'];
  /** Whether any event has come from the engine, even one without meaning. Changed here alone. */
  hasBegun = false;

  constructor({ toFault, ...options }: EngineStreamOptions) {
    this.#toFault = toFault;
    this.#editor = new ChunkEditor(options);
  }

  /** The engine's latest running count; undefined until it gave one. */
  get usage(): EngineUsage | undefined {
    return this.#editor.usage;
  }

  /** Undefined where the bytes complete no event, not even one without meaning. */
  push(bytes: Buffer): StreamStep | undefined {
    const parsed = this.#parser.push(bytes);
    if (parsed === 'too_large')
      return { events: [], end: { ...failedItself('engine_event_too_large'), broken: 'reset' } };
    if (parsed.length === 0) return undefined;
    this.hasBegun = true;
    const events: Buffer[] = [];
    for (const data of parsed) {
      const end = this.#take(data, events);
      if (end) return { events, end };
    }
    return { events, end: undefined };
  }

  /** Handles one event; what the client gets of it is put to `events`. */
  #take(data: Buffer, events: Buffer[]): StreamEnd | undefined {
    const edited = this.#editor.edit(data);
    switch (edited.kind) {
      case 'nothing':
        return undefined;
      case 'chunk':
        events.push(edited.bytes);
        return undefined;
      case 'done':
        return this.#toEnd();
      case 'error': {
        const { status, message, param } = edited;
        return failed(this.#toFault(status, Buffer.from(JSON.stringify({ message, param }))), 'engine_error_event');
      }
      case 'unshowable':
        return { kind: 'unshowable' };
      case 'no_tool_called':
        return NO_TOOL_CALLED;
      case 'broken':
        return failedItself('engine_sent_nonsense');
      case 'foreign':
        return failedItself('engine_answered_another_call');
    }
  }

  #toEnd(): StreamEnd {
    const { isFinished, hasUnshowableCall, isWithholding } = this.#editor;
    if (isFinished && hasUnshowableCall) return { kind: 'unshowable' };
    if (isWithholding) return NO_TOOL_CALLED;
    if (!isFinished) return failedItself('engine_did_not_finish');
    const { finalUsage: usage, lastEvents } = this.#editor;
    return { kind: 'whole', usage, lastEvents };
  }
}

const LF = 0x0a;
const CR = 0x0d;
const COLON = 0x3a;
const SPACE = 0x20;
const DATA = Buffer.from('data');
const LINE_END = Buffer.of(LF);
const NO_BYTES = Buffer.alloc(0);

/** Longest event taken from an engine; a larger one means the engine has gone wrong. */
const MAX_EVENT_BYTES = 4 * 1_048_576;

/**
 * Cuts a byte stream into the data of its server-sent events, whatever the sizes the bytes arrive in: an event over many
 * reads, many in one, CR LF line ends, comments, several data lines. Bytes are never decoded, so a character split
 * between two reads stays whole. Of what has yet to end nothing is kept but the bytes that are bounded, in memory of their own.
 */
export class SseParser {
  /** The line that has yet to end, as it came, where it may be one of data. */
  readonly #rest = new GrowingBytes();
  /** Bytes so far of a line that has yet to end and is none of data. */
  #skipped = 0;
  /** The data of the event that has yet to end: a line of the read under way, or all lines. */
  #line: Buffer | undefined;
  readonly #data = new GrowingBytes();
  /** Whether any data line was not empty. */
  #hasData = false;

  /**
   * Returns the data of every event that is complete now, as parts of `chunk` where they can be; `too_large` for one over 4 MiB, after
   * which nothing can be read.
   */
  push(chunk: Buffer): Buffer[] | 'too_large' {
    const events: Buffer[] = [];
    const isLineBegun = this.#rest.length > 0 || this.#skipped > 0;
    const lineEnd = isLineBegun ? chunk.indexOf(LF) + 1 : 0;
    if (isLineBegun && lineEnd === 0) this.#keepRest(chunk);
    else {
      if (isLineBegun) this.#endRest(chunk.subarray(0, lineEnd), events);
      this.#takeLines(lineEnd === 0 ? chunk : chunk.subarray(lineEnd), events);
    }
    if (this.#line) this.#keepLine(this.#line);
    const bytes = this.#rest.length + this.#skipped + this.#data.length;
    return bytes > MAX_EVENT_BYTES ? 'too_large' : events;
  }

  /** Keeps more of a line that has yet to end. Of comments and other fields only the length counts. */
  #keepRest(bytes: Buffer): void {
    const mayBeData = this.#rest.length > 0 || bytes[0] === DATA[0] || bytes[0] === CR;
    if (this.#skipped === 0 && mayBeData) this.#rest.append(bytes);
    else this.#skipped += bytes.length;
  }

  #endRest(bytes: Buffer, events: Buffer[]): void {
    if (this.#skipped === 0) {
      this.#rest.append(bytes);
      this.#takeLines(this.#rest.take(), events);
    }
    this.#skipped = 0;
  }

  #takeLines(bytes: Buffer, events: Buffer[]): void {
    let start = 0;
    for (let end = bytes.indexOf(LF); end !== -1; end = bytes.indexOf(LF, start)) {
      const lineEnd = end > start && bytes[end - 1] === CR ? end - 1 : end;
      if (lineEnd === start) this.#endEvent(events);
      else this.#takeLine(bytes, start, lineEnd);
      start = end + 1;
    }
    if (start < bytes.length) this.#keepRest(bytes.subarray(start));
  }

  /** An event without data is none. */
  #endEvent(events: Buffer[]): void {
    const line = this.#line;
    if (line && this.#data.length > 0) this.#keepLine(line);
    const data = this.#data.length > 0 ? this.#data.take().subarray(0, -1) : line;
    if (data && this.#hasData) events.push(data);
    this.#line = undefined;
    this.#hasData = false;
  }

  /** Only data lines count. */
  #takeLine(bytes: Buffer, start: number, end: number): void {
    const colon = start + DATA.length;
    if (end <= colon || bytes[colon] !== COLON) return;
    for (let index = 0; index < DATA.length; index += 1) if (bytes[start + index] !== DATA[index]) return;
    const value = bytes.subarray(bytes[colon + 1] === SPACE ? Math.min(colon + 2, end) : colon + 1, end);
    if (this.#line) this.#keepLine(this.#line);
    this.#line = value;
    this.#hasData ||= value.length > 0;
  }

  #keepLine(line: Buffer): void {
    this.#data.append(line);
    this.#data.append(LINE_END);
    this.#line = undefined;
  }
}

/** Bytes that are put together piece by piece: a piece by itself would take more memory than its bytes, and keep all that was read with it. */
class GrowingBytes {
  #room: Buffer = NO_BYTES;
  length = 0;

  append(bytes: Buffer): void {
    const length = this.length + bytes.length;
    if (length > this.#room.length) {
      const room = Buffer.allocUnsafeSlow(Math.max(length, 2 * this.#room.length));
      this.#room.copy(room, 0, 0, this.length);
      this.#room = room;
    }
    bytes.copy(this.#room, this.length);
    this.length = length;
  }

  take(): Buffer {
    const bytes = this.#room.subarray(0, this.length);
    this.#room = NO_BYTES;
    this.length = 0;
    return bytes;
  }
}
