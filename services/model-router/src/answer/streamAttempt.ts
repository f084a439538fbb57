import { type Deadline, startDeadline } from '@turnpike/lifecycle/startDeadline';
import { type CutReason, type EngineFault, MS_PER_TOKEN } from '../api/inferenceFault.ts';
import type { EngineExchange, EngineListener } from '../engines/engineExchange.ts';
import { type EngineErrorKind, isUntaken } from '../engines/terms/attemptResult.ts';
import type { Attempt, AttemptExchange } from '../placement/placer.ts';
import { type AnswerDependencies, type Call, ENGINE_FAILED } from './call.ts';
import type { ClientStream, StreamReader } from './chunks/clientStream.ts';
import { EngineStream, type StreamEnd, type StreamStep } from './chunks/engineStream.ts';
import type { StreamEncoder } from './chunks/streamEncoder.ts';
import { EngineRefusal } from './engineRefusal.ts';
import { type AttemptEnd, dispatchCall } from './runOnEngines.ts';

/** Time that an engine has to end its response after its last event. Then the connection is dropped. */
const TRAILER_MS = 1_000;

/**
 * Time that an engine has to send a count after the client left a stream without an event. The prompt is being
 * computed, and its work is charged.
 */
export const LISTEN_ON_MS = 5_000;

/** The parts of one stream that all its attempts share. */
interface Stream {
  client: ClientStream;
  encoder: StreamEncoder;
  /** Deadline without any token, by `performance.now()`; each token adds `MS_PER_TOKEN`. */
  endsAt: number;
}

/** One attempt at a stream: exchanges events with one engine, up to the last event before the end. */
export class StreamAttempt implements AttemptExchange, EngineListener, StreamReader {
  readonly #dependencies: AnswerDependencies;
  readonly #call: Call;
  readonly #client: ClientStream;
  readonly #attempt: Attempt;
  readonly #endsAt: number;
  readonly #stream: EngineStream;
  readonly #end = Promise.withResolvers<AttemptEnd>();
  /** Timeout for the engine's next event, and its length. */
  #silence: Deadline | undefined;
  #silenceMs = 0;
  /** Timer of the next check of the stream's pace. */
  #total: NodeJS.Timeout | undefined;
  /** Set once the client has left: the timeout for the engine's count. */
  #listening: NodeJS.Timeout | undefined;
  #exchange: EngineExchange | undefined;
  #refusal: EngineRefusal | undefined;
  /** Events sent to the client. */
  #sent = 0;
  #removeFromOpen: (() => void) | undefined;
  #isPaused = false;
  #isOver = false;

  constructor(dependencies: AnswerDependencies, call: Call, attempt: Attempt, { client, encoder, endsAt }: Stream) {
    this.#dependencies = dependencies;
    this.#call = call;
    this.#client = client;
    this.#attempt = attempt;
    this.#endsAt = endsAt;
    const { operation, request, callId } = call;
    if (!operation.chunks) throw new Error(`${operation.name} are not streamed`);
    this.#stream = new EngineStream({
      callId,
      engine: attempt.engine,
      shape: operation.chunks,
      encoder,
      isToolForced: request.isToolForced,
      toFault: (status, body) => attempt.engine.dialect.toFault(status, body, call),
    });
  }

  /** Resolves when the stream is complete, the client has gone, or another engine may be tried. */
  run(): Promise<AttemptEnd> {
    const timeoutMs = this.#endsAt - performance.now();
    // No engine has the call now, because the attempt before failed.
    if (this.#client.hasLeft) return Promise.resolve({ kind: 'left_in_queue' });
    if (this.#dependencies.streams.isCut) this.#cut('shutdown');
    else if (timeoutMs <= 0) this.#cut('too_long');
    if (this.#isOver) return this.#end.promise;
    this.#removeFromOpen = this.#dependencies.streams.open.add(() => this.#cut('shutdown'));
    this.#total = setTimeout(() => this.#checkPace(), timeoutMs);
    this.#awaitEvent(this.#dependencies.timeouts.firstEventMs);
    this.#attempt.exchange = this;
    this.#client.reader = this;
    this.#exchange = dispatchCall(this.#call, this.#attempt, this);
    return this.#end.promise;
  }

  onHeaders(status: number, contentType: string): void {
    if (status !== 200 || !contentType.startsWith('text/event-stream')) this.#refusal = new EngineRefusal(status);
  }

  onData(chunk: Buffer): void {
    if (this.#isOver) return;
    if (this.#refusal) {
      if (!this.#refusal.push(chunk)) this.#refused();
      return;
    }
    try {
      const step = this.#stream.push(chunk);
      if (step) this.#take(step);
    } catch (error) {
      this.onUnforeseen(error);
    }
  }

  onEnd(): void {
    this.#silence?.stop();
    this.#exchange?.release();
    if (this.#isOver) return;
    if (this.#refusal) this.#refused();
    else this.onError('reset');
  }

  onError(kind: EngineErrorKind): void {
    const fault: EngineFault = isUntaken(kind) ? { kind: 'no_healthy_engine' } : ENGINE_FAILED;
    this.#fail(fault, `engine_${kind}`, { broken: kind });
  }

  /** Ends the stream after an error of the router. Logs the error in every state of the stream. */
  onUnforeseen(error: unknown): void {
    const { callId, log } = this.#call;
    log().error({ callId, engine: this.#attempt.engine.id, err: error }, 'stream failed');
    this.#cut('unforeseen');
  }

  #awaitEvent(ms: number): void {
    // A restart at every event takes a tenth of the CPU time of a new timer.
    if (this.#silence && ms === this.#silenceMs) {
      this.#silence.restart();
      return;
    }
    this.#silence?.stop();
    this.#silence = startDeadline(ms, () => this.onError('timeout'));
    this.#silenceMs = ms;
  }

  leftOut(): void {
    this.onError('left_out');
  }

  /** Stops the engine after the client has left: at once if the stream has begun, else at the engine's first count. */
  clientLeft(): void {
    if (this.#isOver) return;
    if (this.#stream.hasBegun) this.#leave();
    else this.#listening = setTimeout(() => this.#leave(), this.#dependencies.timeouts.listenOnMs);
  }

  /** Stops the engine. Its count so far is charged. */
  #leave(): void {
    if (!this.#over()) return;
    const { hasBegun, usage } = this.#stream;
    this.#end.resolve(hasBegun ? { kind: 'left_midway', usage } : { kind: 'left_before_event' });
  }

  /** Reads the engine's events for the count only, after the client has left. */
  #count(end: StreamEnd | undefined): void {
    if (this.#stream.usage || end?.kind === 'whole' || end?.kind === 'unshowable') this.#leave();
    else if (end) this.#fail(end.fault, end.reason, { broken: end.broken });
  }

  /** Resumes reading from the engine, because the client has read all that was sent. */
  clientRead(): void {
    if (this.#isOver) return;
    this.#isPaused = false;
    this.#attempt.read();
    this.#awaitEvent(this.#dependencies.timeouts.betweenEventsMs);
    this.#exchange?.resume();
  }

  /** Ends the stream if it is slower than allowed. Tokens beyond the requested output count as no progress. */
  #checkPace(): void {
    const counted = Math.max(this.#stream.usage?.completionTokens ?? 0, this.#sent);
    const tokens = Math.min(counted, this.#call.bound.outputTokens);
    const leftMs = this.#endsAt + tokens * MS_PER_TOKEN - performance.now();
    if (leftMs > 0) this.#total = setTimeout(() => this.#checkPace(), leftMs);
    else this.#cut('too_long');
  }

  /** Ends a stream that its engine did not fail. Stops the engine and charges its count so far. */
  #cut(by: CutReason): void {
    const { hasBegun, usage } = this.#stream;
    if (this.#listening) this.#leave();
    else if (!hasBegun) this.#fail(ENGINE_FAILED, `cut_${by}`, { isFinal: true });
    if (!this.#over()) return;
    const { callId, log, receivedAt } = this.#call;
    log().info(
      { callId, engine: this.#attempt.engine.id, by, tokens: usage?.completionTokens },
      'ended a stream that its engine did not fail',
    );
    this.#end.resolve({ kind: 'cut', by, afterMs: performance.now() - receivedAt, usage });
  }

  #take(step: StreamStep): void {
    this.#attempt.firstEvent();
    // Bytes that arrive while the client is slow do not restart the engine's timeout.
    if (!this.#isPaused) this.#awaitEvent(this.#dependencies.timeouts.betweenEventsMs);
    if (this.#listening) {
      this.#count(step.end);
      return;
    }
    this.#send(step.events);
    const { end } = step;
    if (!end) return;
    if (end.kind === 'failed') {
      this.#fail(end.fault, end.reason, { broken: end.broken });
    } else if (end.kind === 'unshowable') {
      if (this.#sent > 0) this.#cut('tool_calls');
      else this.#fail(ENGINE_FAILED, 'engine_sent_nonsense');
    } else {
      // The answer is complete. Its connection is reused once the response has ended.
      this.#isOver = true;
      this.#removeFromOpen?.();
      clearTimeout(this.#total);
      this.#silence?.stop();
      this.#silence = startDeadline(TRAILER_MS, () => this.#exchange?.abort());
      this.#end.resolve({ kind: 'whole', usage: end.usage, rest: end.lastEvents });
    }
  }

  #send(events: Buffer[]): void {
    if (events.length === 0) return;
    if (this.#sent === 0) {
      const { model, span, receivedAt } = this.#call;
      const ms = performance.now() - receivedAt;
      this.#dependencies.metrics.firstToken(model, ms / 1_000);
      span.setAttributes({ 'turnpike.time_to_first_token_ms': Math.round(ms) });
    }
    this.#sent += events.length;
    if (this.#client.write(events)) return;
    // The client is slow. Reading from the engine stops, so its silence is no longer measured.
    this.#isPaused = true;
    this.#silence?.stop();
    this.#silence = undefined;
    this.#exchange?.pause();
    this.#attempt.unread();
  }

  /** Cuts the client, because other calls wait for its room. Stops the engine and charges its count. */
  cutUnread(): void {
    const { callId, log } = this.#call;
    log().info({ callId, engine: this.#attempt.engine.id }, 'cut a stream that is not read: others wait for its room');
    this.#client.cut();
  }

  #refused(): void {
    this.#fail(this.#refusal?.toFault(this.#attempt.engine.dialect, this.#call) ?? ENGINE_FAILED, 'engine_refused');
  }

  /** Ends the attempt without a complete answer. */
  #fail(
    fault: EngineFault,
    reason: string,
    { broken, isFinal = false }: { broken?: EngineErrorKind | undefined; isFinal?: boolean } = {},
  ): void {
    if (!this.#over()) return;
    this.#countFailure(reason);
    // After the client has left, another engine's answer has no reader.
    const isOver = isFinal || this.#listening !== undefined;
    this.#end.resolve({ kind: 'failed', fault, reason, broken, isFinal: isOver, hasSent: this.#sent > 0 });
  }

  /** Counts and logs the unpaid output tokens of a failed attempt. */
  #countFailure(reason: string): void {
    const { callId, keyId, model, log } = this.#call;
    const tokens = Math.max(this.#stream.usage?.completionTokens ?? 0, this.#sent);
    if (tokens > 0) this.#dependencies.metrics.tokensUnpaid(model, { reason, tokens });
    log().warn(
      { callId, keyId, engine: this.#attempt.engine.id, reason, hasSent: this.#sent > 0, tokens },
      'engine did not answer as it should',
    );
  }

  /** Ends the exchange with the engine once. Returns false if it had ended before. */
  #over(): boolean {
    if (this.#isOver) return false;
    this.#isOver = true;
    this.#removeFromOpen?.();
    clearTimeout(this.#total);
    this.#silence?.stop();
    clearTimeout(this.#listening);
    this.#exchange?.abort();
    return true;
  }
}
