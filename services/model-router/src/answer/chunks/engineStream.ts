import type { EngineFault } from '../../api/inferenceFault.ts';
import type { EngineErrorKind } from '../../engines/terms/attemptResult.ts';
import type { EngineUsage } from '../../money/call/openCalls.ts';
import { ChunkEditor, type ChunkEditorOptions } from './chunkEditor.ts';
import { SseParser } from './sseParser.ts';

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
  isToolForced: boolean;
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
  #held: WithheldText | undefined;
  /** Whether any event has come from the engine, even one without meaning. Changed here alone. */
  hasBegun = false;

  constructor({ isToolForced, toFault, ...options }: EngineStreamOptions) {
    this.#toFault = toFault;
    this.#editor = new ChunkEditor(options);
    this.#held = isToolForced ? new WithheldText() : undefined;
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
        return this.#show(edited.bytes, events);
      case 'done':
        return this.#toEnd();
      case 'error': {
        const { status, message, param } = edited;
        return failed(this.#toFault(status, Buffer.from(JSON.stringify({ message, param }))), 'engine_error_event');
      }
      case 'unshowable':
        return { kind: 'unshowable' };
      case 'broken':
        return failedItself('engine_sent_nonsense');
      case 'foreign':
        return failedItself('engine_answered_another_call');
    }
  }

  #show(event: Buffer, events: Buffer[]): StreamEnd | undefined {
    if (!this.#held) {
      events.push(event);
      return undefined;
    }
    if (!this.#editor.hasToolCall) {
      this.#held.hold(event);
      return this.#held.isFull ? NO_TOOL_CALLED : undefined;
    }
    events.push(...this.#held.release(), event);
    this.#held = undefined;
    return undefined;
  }

  #toEnd(): StreamEnd {
    const { isFinished, hasUnshowableCall, finalUsage: usage, lastEvents } = this.#editor;
    if (isFinished && hasUnshowableCall) return { kind: 'unshowable' };
    if (this.#held) return NO_TOOL_CALLED;
    return isFinished ? { kind: 'whole', usage, lastEvents } : failedItself('engine_did_not_finish');
  }
}

/** Text withheld at most. It is more than any model says in one answer. */
const MAX_HELD_LENGTH = 1_048_576;

interface HeldChunk {
  choices: { delta: Record<string, string | null> }[];
}

/**
 * What an engine said before it called the tool that it has to call: withheld, so that an answer without a call can still
 * be a refusal (decisions, Streams). The chunks are put together to one, as they reach the client at once: a model may
 * think for thousands of tokens first, each of which would take as much memory as fifty in one chunk.
 */
class WithheldText {
  #chunk: HeldChunk | undefined;
  #length = 0;

  /** More was withheld than is kept: the tool will not be called. */
  get isFull(): boolean {
    return this.#length > MAX_HELD_LENGTH;
  }

  /** Holds back a client's event, which has a delta of text alone. */
  hold(event: Buffer): void {
    const chunk = JSON.parse(event.toString('utf8').slice('data: '.length)) as HeldChunk;
    const delta = chunk.choices[0]?.delta ?? {};
    for (const text of Object.values(delta)) this.#length += text?.length ?? 0;
    const held = this.#chunk?.choices[0]?.delta;
    if (held) join(held, delta);
    else this.#chunk = chunk;
  }

  /** One event with all that was withheld, if anything was. */
  release(): Buffer[] {
    return this.#chunk ? [Buffer.from(`data: ${JSON.stringify(this.#chunk)}\n\n`)] : [];
  }
}

/** Adds the texts of a later delta to those of an earlier one. */
function join(held: Record<string, string | null>, delta: Record<string, string | null>): void {
  for (const [key, text] of Object.entries(delta)) {
    const before = held[key];
    held[key] = typeof before === 'string' ? before + (text ?? '') : text;
  }
}
