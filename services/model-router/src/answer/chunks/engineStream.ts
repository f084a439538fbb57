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
