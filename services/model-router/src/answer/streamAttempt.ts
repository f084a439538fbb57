import { toChatError } from '../api/chatError.ts';
import type { EngineFault } from '../api/chatFault.ts';
import type { EngineErrorKind, EngineExchange } from '../fleet/dispatchToEngine.ts';
import type { Engine } from '../fleet/engine.ts';
import { LEFT_BEFORE_FIRST_EVENT } from '../money/call/toEvent.ts';
import type { Attempt, AttemptOptions, CallContext } from './callContext.ts';
import type { ClientStream } from './chunks/clientStream.ts';
import { EngineStream, type StreamEnd } from './chunks/engineStream.ts';
import { Deadline } from './deadline.ts';
import { dispatchCall } from './dispatchCall.ts';
import { EngineRefusal } from './engineRefusal.ts';
import { reportFailure } from './reportFailure.ts';
import { toEnding } from './toEnding.ts';

/** How long an engine may take to end its response after it said it is done; its connection is dropped then. */
const TRAILER_MS = 1_000;

const FAILED: EngineFault = { kind: 'engine_failed' };

/** One attempt: the exchange with one engine, from its request to the client's last byte. */
export class StreamAttempt {
  readonly #context: CallContext;
  readonly #client: ClientStream;
  readonly #engine: Engine;
  readonly #stream: EngineStream;
  readonly #result = Promise.withResolvers<Attempt>();
  readonly #silence: Deadline;
  readonly #total = new Deadline(() => this.#tooLong());
  #onFirstEvent: (() => void) | undefined;
  #onUnread: AttemptOptions['onUnread'] | undefined;
  #onRead: AttemptOptions['onRead'] | undefined;
  #exchange: EngineExchange | undefined;
  #refusal: EngineRefusal | undefined;
  #hasSent = false;
  #isPaused = false;
  #isOver = false;

  constructor(context: CallContext, client: ClientStream, engine: Engine) {
    this.#context = context;
    this.#client = client;
    this.#engine = engine;
    const { request, model } = context;
    if (request.operation === 'embeddings') throw new Error('embeddings are not streamed');
    this.#stream = new EngineStream({
      operation: request.operation,
      canonicalModel: model.id,
      includeUsage: request.includeUsage,
      isCacheCapable: model.isCacheCapable,
      isToolForced: request.isToolForced,
    });
    this.#silence = new Deadline(() => (this.#isOver ? this.#exchange?.abort() : this.#broken('timeout')));
  }

  /** Resolves when the client has its answer or another engine may be tried. `timeoutMs` is what is left of the stream's time. */
  run({
    timeoutMs,
    onFirstEvent,
    onUnread,
    onRead,
    signal,
    ...attempt
  }: AttemptOptions & { timeoutMs: number }): Promise<Attempt> {
    this.#onFirstEvent = onFirstEvent;
    this.#onUnread = onUnread;
    this.#onRead = onRead;
    const { firstEventMs } = this.#context.timeouts;
    if (this.#client.hasLeft) {
      this.clientLeft();
      return this.#result.promise;
    }
    if (timeoutMs <= 0) {
      this.#tooLong();
      return this.#result.promise;
    }
    this.#total.set(timeoutMs);
    this.#silence.set(firstEventMs);
    signal.addEventListener('abort', () => this.#broken('left_out'));
    this.#exchange = dispatchCall(
      this.#context,
      this.#engine,
      { ...attempt, headersTimeoutMs: firstEventMs },
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
    const { hasBegun, usage } = this.#stream;
    const ending = hasBegun ? toEnding('client_left', usage) : LEFT_BEFORE_FIRST_EVENT;
    this.#finish(this.#context.call.end(ending).then(() => ({ outcome: 'ended' })));
  }

  clientDrained(): void {
    if (this.#isOver) return;
    this.#isPaused = false;
    this.#onRead?.();
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
    const step = this.#stream.push(chunk);
    if (!step) return;
    this.#onFirstEvent?.();
    this.#onFirstEvent = undefined;
    // Bytes that were already on their way while the client is slow do not start the engine's clock again.
    if (!this.#isPaused) this.#silence.set(this.#context.timeouts.betweenEventsMs);
    this.#send(step.events);
    if (step.end) this.#onStreamEnd(step.end);
  }

  #send(events: Buffer[]): void {
    if (events.length === 0) return;
    if (!this.#hasSent) this.#firstToken();
    this.#hasSent = true;
    if (this.#client.write(events.length === 1 && events[0] ? events[0] : Buffer.concat(events))) return;
    // The client is slow: stop reading from the engine, whose silence is now our doing.
    this.#isPaused = true;
    this.#silence.clear();
    this.#exchange?.pause();
    this.#onUnread?.(() => this.#cut());
  }

  /** Others wait for the room of a stream that nobody reads: the engine stops, and what it had counted is charged. */
  #cut(): void {
    const { call, log } = this.#context;
    log.info(
      { callId: call.callId, engine: this.#engine.id },
      'cut a stream that is not read: others wait for its room',
    );
    this.#client.cut();
  }

  #firstToken(): void {
    const { metrics, model, span, receivedAt } = this.#context;
    const ms = performance.now() - receivedAt;
    metrics.firstToken(model, ms / 1_000);
    span.setAttributes({ 'turnpike.time_to_first_token_ms': Math.round(ms) });
  }

  #onStreamEnd(end: StreamEnd): void {
    if (end.kind === 'failed') this.#fail(end.fault, end.reason, { broken: end.broken });
    else this.#completed(end);
  }

  /** The engine's answer is whole: it is handed out as such once it is settled, and only if the engine counted it. */
  #completed({ usage, usageEvent }: Extract<StreamEnd, { kind: 'whole' }>): void {
    this.#isOver = true;
    this.#total.clear();
    const { engines, workspaceId: caller } = this.#context;
    engines.report(this.#engine, { kind: 'completed', caller });
    this.#silence.set(TRAILER_MS);
    this.#finish(
      this.#context.call.end(toEnding('completed', usage)).then((isKept) => {
        if (isKept && usage) this.#client.done(usageEvent);
        else this.#client.fail(toChatError(FAILED));
        return { outcome: 'ended', counted: usage };
      }),
    );
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
    { broken, isFinal = false }: { broken?: EngineErrorKind | undefined; isFinal?: boolean } = {},
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
    reportFailure(this.#context, this.#engine, { fault, broken, isFinal });
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
