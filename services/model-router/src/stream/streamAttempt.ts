import { dispatchToEngine, type EngineErrorKind, type EngineExchange } from '../engines/dispatchToEngine.ts';
import { type Engine, servedNameOf } from '../engines/engineRegistry.ts';
import { toEngineFault } from '../engines/toEngineFault.ts';
import { toChatError } from '../wire/chatError.ts';
import type { EngineFault } from '../wire/chatFault.ts';
import { OPERATION_PATHS } from '../wire/inferenceRequest.ts';
import { toEngineBody } from '../wire/toEngineBody.ts';
import type { Attempt, CallContext } from './callContext.ts';
import { ChunkEditor, type EditedEvent } from './chunkEditor.ts';
import type { ClientStream } from './clientStream.ts';
import { Deadline } from './deadline.ts';
import { EngineRefusal } from './engineRefusal.ts';
import { reportBroken } from './runOnEngines.ts';
import { SseParser } from './sseParser.ts';

/** Events held back while a forced tool call has yet to show itself: an engine that says this much else will not call it. */
const MAX_HELD_BYTES = 1_048_576;

/** How long an engine may take to end its response after it said it is done; its connection is dropped then. */
const TRAILER_MS = 1_000;

const FAILED: EngineFault = { kind: 'engine_failed' };

/** One attempt: the exchange with one engine, from its request to the client's last byte. */
export class StreamAttempt {
  readonly #context: CallContext;
  readonly #client: ClientStream;
  readonly #engine: Engine;
  readonly #editor: ChunkEditor;
  readonly #parser = new SseParser();
  readonly #result = Promise.withResolvers<Attempt>();
  readonly #silence: Deadline;
  readonly #total = new Deadline(() => this.#tooLong());
  #exchange: EngineExchange | undefined;
  #refusal: EngineRefusal | undefined;
  #held: Buffer[] | undefined;
  #heldBytes = 0;
  #hasSent = false;
  #isPaused = false;
  #isOver = false;

  constructor(context: CallContext, client: ClientStream, engine: Engine) {
    this.#context = context;
    this.#client = client;
    this.#engine = engine;
    const { operation } = context.request;
    if (operation === 'embeddings') throw new Error('embeddings are not streamed');
    this.#editor = new ChunkEditor({
      operation,
      canonicalModel: context.model.id,
      includeUsage: context.request.includeUsage,
      isCacheCapable: context.model.isCacheCapable,
    });
    this.#held = context.request.isToolForced ? [] : undefined;
    this.#silence = new Deadline(() => (this.#isOver ? this.#exchange?.abort() : this.#broken('timeout')));
  }

  /** Resolves when the client has its answer or another engine may be tried. `timeoutMs` is what is left of the stream's time. */
  run({
    number,
    traceparent,
    timeoutMs,
  }: {
    number: number;
    traceparent: string | undefined;
    timeoutMs: number;
  }): Promise<Attempt> {
    const { request, model, call, maxOutputTokens, cacheSalt, timeouts } = this.#context;
    const servedName = servedNameOf(this.#engine, model) ?? model.id;
    if (this.#client.hasLeft) {
      this.clientLeft();
      return this.#result.promise;
    }
    if (timeoutMs <= 0) {
      this.#tooLong();
      return this.#result.promise;
    }
    this.#total.set(timeoutMs);
    this.#silence.set(timeouts.firstEventMs);
    this.#exchange = dispatchToEngine(
      this.#engine,
      {
        path: OPERATION_PATHS[request.operation],
        body: toEngineBody(request, { model, servedName, maxOutputTokens, cacheSalt }),
        requestId: number === 1 ? call.callId : `${call.callId}-${number}`,
        traceparent,
        headersTimeoutMs: timeouts.firstEventMs,
      },
      {
        onHeaders: (status, contentType) => {
          if (status !== 200 || !contentType.startsWith('text/event-stream')) this.#refusal = new EngineRefusal(status);
        },
        onData: (chunk) => (this.#refusal ? this.#collectRefusal(chunk) : this.#onEvents(chunk)),
        onEnd: () => {
          this.#silence.clear();
          if (this.#refusal) this.#refused();
          else this.#broken('reset');
        },
        onError: (kind) => this.#broken(kind),
      },
    );
    return this.#result.promise;
  }

  /** The client hung up: the engine stops at once, and what it had counted is charged. */
  clientLeft(): void {
    if (!this.#over()) return;
    const { usage } = this.#editor;
    const ending = usage
      ? ({ status: 'success', reason: 'client_left', usage } as const)
      : ({ status: 'unknown', reason: 'client_left_before_first_count' } as const);
    this.#finish(this.#context.call.end(ending).then(() => ({ outcome: 'ended' })));
  }

  clientDrained(): void {
    if (this.#isOver) return;
    this.#isPaused = false;
    this.#silence.set(this.#context.timeouts.betweenEventsMs);
    this.#exchange?.resume();
  }

  leaseLost(): void {
    this.#fail(FAILED, 'lease_lost', { isFinal: true });
  }

  #tooLong(): void {
    this.#fail(FAILED, 'stream_too_long', { isFinal: true });
  }

  #onEvents(chunk: Buffer): void {
    if (this.#isOver) return;
    let events: Buffer[];
    try {
      events = this.#parser.push(chunk);
    } catch {
      this.#broken('reset');
      return;
    }
    if (events.length === 0) return;
    // Bytes that were already on their way while the client is slow do not start the engine's clock again.
    if (!this.#isPaused) this.#silence.set(this.#context.timeouts.betweenEventsMs);
    const out: Buffer[] = [];
    for (const event of events) {
      this.#take(this.#editor.edit(event), out);
      if (this.#isOver) return;
    }
    this.#send(out);
  }

  /** Handles one event; bytes for the client are collected in `out`. */
  #take(event: EditedEvent, out: Buffer[]): void {
    switch (event.kind) {
      case 'nothing':
        return;
      case 'chunk':
        if (!this.#held) {
          out.push(event.bytes);
          return;
        }
        this.#held.push(event.bytes);
        this.#heldBytes += event.bytes.length;
        if (event.hasToolCall) {
          out.push(...this.#held);
          this.#held = undefined;
        } else if (this.#heldBytes > MAX_HELD_BYTES) this.#toolNotCalled();
        return;
      case 'done':
        this.#send(out.splice(0));
        this.#completed();
        return;
      case 'error':
        this.#send(out.splice(0));
        this.#fail(toEngineFault(event.status, JSON.stringify({ message: event.message })), 'engine_error_event');
        return;
      case 'broken':
        this.#send(out.splice(0));
        this.#fail(FAILED, 'engine_sent_nonsense');
        return;
    }
  }

  #send(out: Buffer[]): void {
    if (out.length === 0) return;
    if (!this.#hasSent) this.#context.metrics.firstToken(this.#context.model, this.#secondsSinceReceived());
    this.#hasSent = true;
    if (this.#client.write(out.length === 1 && out[0] ? out[0] : Buffer.concat(out))) return;
    // The client is slow: stop reading from the engine, whose silence is now our doing.
    this.#isPaused = true;
    this.#silence.clear();
    this.#exchange?.pause();
  }

  #secondsSinceReceived(): number {
    return (performance.now() - this.#context.receivedAt) / 1_000;
  }

  /** The engine says it is done: whole only if it finished, counted, and kept to a forced tool choice. */
  #completed(): void {
    const { finalUsage, finishReason } = this.#editor;
    if (this.#held) {
      this.#toolNotCalled();
      return;
    }
    if (finishReason === undefined) {
      this.#fail(FAILED, 'engine_did_not_finish');
      return;
    }
    this.#isOver = true;
    this.#total.clear();
    this.#context.engines.reportCompletedCall(this.#engine);
    this.#silence.set(TRAILER_MS);
    const { call } = this.#context;
    const ending = finalUsage
      ? ({ status: 'success', reason: 'completed', usage: finalUsage } as const)
      : ({ status: 'unknown', reason: 'engine_gave_no_count' } as const);
    this.#finish(
      call.end(ending).then((isKept) => {
        if (isKept && finalUsage) this.#client.done();
        else this.#client.fail(toChatError(FAILED));
        return { outcome: 'ended' };
      }),
    );
  }

  #toolNotCalled(): void {
    this.#fail({ kind: 'forced_tool_not_called' }, 'forced_tool_not_called');
  }

  #collectRefusal(chunk: Buffer): void {
    if (this.#refusal?.push(chunk) === false) this.#refused();
  }

  #refused(): void {
    this.#fail(this.#refusal?.toFault() ?? FAILED, 'engine_refused');
  }

  #broken(kind: EngineErrorKind): void {
    // An engine nobody could connect to took nothing: the fleet lacks capacity, and a retry is safe.
    const fault: EngineFault = kind === 'refused' ? { kind: 'no_healthy_engine' } : FAILED;
    this.#fail(fault, `engine_${kind}`, { broken: kind });
  }

  /** Ends the attempt without an answer: to be retried if the client has seen nothing, else as an error event. */
  #fail(
    fault: EngineFault,
    reason: string,
    { broken, isFinal = false }: { broken?: EngineErrorKind; isFinal?: boolean } = {},
  ): void {
    if (!this.#over()) return;
    const { call, log } = this.#context;
    log.warn(
      { callId: call.callId, engine: this.#engine.id, reason, hasSent: this.#hasSent },
      'engine did not answer as it should',
    );
    if (!this.#hasSent) {
      this.#finish(Promise.resolve({ outcome: 'failed', fault, broken, isFinal }));
      return;
    }
    if (broken !== undefined) reportBroken(this.#context.engines, this.#engine, broken);
    this.#finish(
      call.end({ status: 'failure', reason }).then(() => {
        this.#client.fail(toChatError(fault));
        return { outcome: 'ended' };
      }),
    );
  }

  /** Ends the exchange with the engine, once; false when it had ended before. */
  #over(): boolean {
    if (this.#isOver) return false;
    this.#isOver = true;
    this.#total.clear();
    this.#silence.clear();
    this.#exchange?.abort();
    return true;
  }

  #finish(attempt: Promise<Attempt>): void {
    attempt.then(this.#result.resolve, this.#result.reject);
  }
}
