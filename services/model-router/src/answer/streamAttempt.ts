import type { EngineFault } from '../api/inferenceFault.ts';
import type { EngineExchange } from '../fleet/dispatchToEngine.ts';
import type { Engine } from '../fleet/engine.ts';
import type { Attempt, EngineErrorKind } from '../fleet/terms/attempt.ts';
import { type AttemptEnd, type AttemptOn, type AttemptOptions, dispatchCall } from './attempt.ts';
import type { Call, House } from './call.ts';
import type { ClientStream } from './chunks/clientStream.ts';
import { EngineStream, type StreamEnd } from './chunks/engineStream.ts';
import { EngineRefusal } from './engineRefusal.ts';
import { ENGINE_FAILED } from './outcome.ts';

/** How long an engine may take to end its response after it said it is done; its connection is dropped then. */
const TRAILER_MS = 1_000;

/**
 * How long an engine may still give a count after its client has left a stream of which nothing had come (decisions, What is
 * billed). Its prompt is being computed, and is not free.
 */
export const LISTEN_ON_MS = 5_000;

/** What all attempts at one stream share. */
interface Stream {
  client: ClientStream;
  /** When its time is up, by `performance.now()`. */
  endsAt: number;
}

/** One attempt at a stream: the exchange with one engine, event by event, up to the last one before its end. */
export class StreamAttempt {
  readonly #house: House;
  readonly #call: Call;
  readonly #client: ClientStream;
  readonly #attempt: Attempt<Engine>;
  readonly #options: AttemptOptions;
  readonly #stream: EngineStream;
  readonly #end = Promise.withResolvers<AttemptEnd>();
  /** Until the engine has to say more, and how long that is. */
  #silence: NodeJS.Timeout | undefined;
  #silenceMs = 0;
  /** Until the stream has to end. */
  #total: NodeJS.Timeout | undefined;
  /** The client has left; until no count is waited for any more. */
  #listening: NodeJS.Timeout | undefined;
  #exchange: EngineExchange | undefined;
  #refusal: EngineRefusal | undefined;
  #hasSent = false;
  #isPaused = false;
  #isOver = false;

  /** Attempts at one stream, on one engine after the other. */
  static on(house: House, call: Call, stream: Stream): AttemptOn {
    return (attempt, options) => new StreamAttempt(house, call, { ...stream, attempt, options }).#run(stream.endsAt);
  }

  private constructor(
    house: House,
    call: Call,
    { client, attempt, options }: Stream & { attempt: Attempt<Engine>; options: AttemptOptions },
  ) {
    this.#house = house;
    this.#call = call;
    this.#client = client;
    this.#attempt = attempt;
    this.#options = options;
    const { operation, request, model } = call;
    if (!operation.chunks) throw new Error(`${operation.name} are not streamed`);
    this.#stream = new EngineStream({
      shape: operation.chunks,
      canonicalModel: model.id,
      includeUsage: request.includeUsage,
      isCacheCapable: model.isCacheCapable,
      isToolForced: request.isToolForced,
      toFault: attempt.engine.dialect.toFault,
    });
  }

  /** Resolves when the stream is whole, the client is gone, or another engine may be tried. */
  #run(endsAt: number): Promise<AttemptEnd> {
    const { firstEventMs } = this.#house.timeouts;
    const timeoutMs = endsAt - performance.now();
    // No engine has had it: the one before failed.
    if (this.#client.hasLeft) return Promise.resolve({ kind: 'left_in_queue' });
    if (timeoutMs <= 0) this.#tooLong();
    if (this.#isOver) return this.#end.promise;
    this.#total = setTimeout(() => this.#tooLong(), timeoutMs);
    this.#awaitEvent(firstEventMs);
    this.#attempt.onLeave(() => this.#broken('left_out'));
    this.#client.onLeft(() => this.#clientLeft());
    this.#exchange = dispatchCall(this.#call, this.#attempt.engine, this.#options, {
      onHeaders: (status, contentType) => {
        if (status !== 200 || !contentType.startsWith('text/event-stream')) this.#refusal = new EngineRefusal(status);
      },
      onData: (chunk) => (this.#refusal ? this.#collectRefusal(chunk) : this.#onEvents(chunk)),
      onEnd: () => {
        clearTimeout(this.#silence);
        if (this.#refusal) this.#refused();
        else this.#broken('reset');
      },
      onError: (kind) => this.#broken(kind),
    });
    return this.#end.promise;
  }

  #awaitEvent(ms: number): void {
    // Begun anew at every event, which costs a tenth of another timer.
    if (this.#silence && ms === this.#silenceMs) {
      this.#silence.refresh();
      return;
    }
    clearTimeout(this.#silence);
    this.#silence = setTimeout(() => this.#broken('timeout'), ms);
    this.#silenceMs = ms;
  }

  /** The client hung up: the engine stops, at once where it has begun, else at its first count. */
  #clientLeft(): void {
    if (this.#isOver) return;
    if (this.#stream.hasBegun) this.#leave();
    else this.#listening = setTimeout(() => this.#leave(), this.#house.timeouts.listenOnMs);
  }

  /** The engine stops, and what it had counted is charged. */
  #leave(): void {
    if (!this.#over()) return;
    const { hasBegun, usage } = this.#stream;
    this.#end.resolve(hasBegun ? { kind: 'left_midway', usage } : { kind: 'left_before_event' });
  }

  /** Hears the engine where nobody reads what it says: for its count alone. */
  #count(end: StreamEnd | undefined): void {
    if (this.#stream.usage || end?.kind === 'whole') this.#leave();
    else if (end) this.#fail(end.fault, end.reason, { broken: end.broken });
  }

  readonly #readOn = (): void => {
    if (this.#isOver) return;
    this.#isPaused = false;
    this.#attempt.read();
    this.#awaitEvent(this.#house.timeouts.betweenEventsMs);
    this.#exchange?.resume();
  };

  #tooLong(): void {
    this.#fail(ENGINE_FAILED, 'stream_too_long', { isFinal: true });
  }

  #onEvents(chunk: Buffer): void {
    if (this.#isOver) return;
    const step = this.#stream.push(chunk);
    if (!step) return;
    this.#attempt.firstEvent();
    // Bytes that were already on their way while the client is slow do not start the engine's clock again.
    if (!this.#isPaused) this.#awaitEvent(this.#house.timeouts.betweenEventsMs);
    if (this.#listening) {
      this.#count(step.end);
      return;
    }
    this.#send(step.events);
    if (step.end?.kind === 'failed') this.#fail(step.end.fault, step.end.reason, { broken: step.end.broken });
    else if (step.end) this.#completed(step.end);
  }

  #send(events: Buffer[]): void {
    if (events.length === 0) return;
    if (!this.#hasSent) this.#firstToken();
    this.#hasSent = true;
    if (this.#client.write(events, this.#readOn)) return;
    // The client is slow: stop reading from the engine, whose silence is now our doing.
    this.#isPaused = true;
    clearTimeout(this.#silence);
    this.#silence = undefined;
    this.#exchange?.pause();
    this.#attempt.unread(() => this.#cut());
  }

  /** Others wait for the room of a stream that nobody reads: the engine stops, and what it had counted is charged. */
  #cut(): void {
    const { callId, log } = this.#call;
    log().info({ callId, engine: this.#attempt.engine.id }, 'cut a stream that is not read: others wait for its room');
    this.#client.cut();
  }

  #firstToken(): void {
    const { model, span, receivedAt } = this.#call;
    const ms = performance.now() - receivedAt;
    this.#house.metrics.firstToken(model, ms / 1_000);
    span.setAttributes({ 'turnpike.time_to_first_token_ms': Math.round(ms) });
  }

  /** The engine's answer is whole. Its connection may be used again once its response has ended. */
  #completed({ usage, usageEvent }: Extract<StreamEnd, { kind: 'whole' }>): void {
    this.#isOver = true;
    clearTimeout(this.#total);
    clearTimeout(this.#silence);
    this.#silence = setTimeout(() => this.#exchange?.abort(), TRAILER_MS);
    this.#end.resolve({ kind: 'whole', usage, rest: usageEvent });
  }

  #collectRefusal(chunk: Buffer): void {
    if (this.#refusal?.push(chunk) === false) this.#refused();
  }

  #refused(): void {
    this.#fail(this.#refusal?.toFault(this.#attempt.engine.dialect) ?? ENGINE_FAILED, 'engine_refused');
  }

  #broken(kind: EngineErrorKind): void {
    // An engine nobody could connect to took nothing: the fleet lacks capacity, and a retry is safe.
    const fault: EngineFault = kind === 'refused' ? { kind: 'no_healthy_engine' } : ENGINE_FAILED;
    this.#fail(fault, `engine_${kind}`, { broken: kind });
  }

  /** Ends the attempt without a whole answer. */
  #fail(
    fault: EngineFault,
    reason: string,
    { broken, isFinal = false }: { broken?: EngineErrorKind | undefined; isFinal?: boolean } = {},
  ): void {
    if (!this.#over()) return;
    this.#logFailure(reason);
    // Nobody would read what another engine says.
    const isOver = isFinal || this.#listening !== undefined;
    this.#end.resolve({ kind: 'failed', fault, reason, broken, isFinal: isOver, hasSent: this.#hasSent });
  }

  #logFailure(reason: string): void {
    const { callId, log } = this.#call;
    log().warn(
      { callId, engine: this.#attempt.engine.id, reason, hasSent: this.#hasSent },
      'engine did not answer as it should',
    );
  }

  /** Ends the exchange with the engine, once; false when it had ended before. */
  #over(): boolean {
    if (this.#isOver) return false;
    this.#isOver = true;
    clearTimeout(this.#total);
    clearTimeout(this.#silence);
    clearTimeout(this.#listening);
    this.#exchange?.abort();
    return true;
  }
}
