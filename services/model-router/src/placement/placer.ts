import type { CallSpan } from '@turnpike/telemetry/callSpan';
import type { InferenceMetrics } from '@turnpike/telemetry/inferenceMetrics';
import type { PricedModel } from '../catalog/catalog.ts';
import type { Engine, UnheardCall } from '../engines/engine.ts';
import { EnginePace, type LoadedCall } from '../engines/engineLoad.ts';
import type { AttemptResult } from '../engines/terms/attemptResult.ts';
import { MIN_PACED_TOKENS } from '../engines/terms/limits.ts';
import { type Decision, decide, toDecisionAttributes } from './chooseEngine.ts';
import {
  FIRST_OUTPUT_TOKENS,
  LEARNING_RATE,
  LEAST_TRIAL_PAUSE_MS,
  TRIAL_OUTPUT_TOKENS,
  TRIAL_PAUSE_FACTOR,
  TRIAL_PROMPT_TOKENS,
  TRIAL_WINDOW_SHARE,
} from './limits.ts';
import type { RouterNews } from './routerNews.ts';

/** A call as placement sees it. */
export interface Placement {
  modelId: string;
  keyId: string;
  /** Chained hashes of the prompt's leading blocks. */
  prefixHashes: readonly number[];
  /** Rendered bytes of the whole prompt, hashed or not. */
  promptBytes: number;
  /** An estimate without a tokenizer. */
  estimatedPromptTokens: number;
  maxOutputTokens: number;
  /** Streams report their first event; non-streaming answers have none. */
  isStream: boolean;
}

/** A response whose client may leave before its end. */
export interface Leavable {
  readonly destroyed: boolean;
  once(event: 'close', onClose: () => void): unknown;
  off(event: 'close', onClose: () => void): unknown;
}

/** A call that needs an engine. */
export interface QueueableCall {
  readonly placement: Placement;
  /** Memory it holds. */
  readonly bytes: number;
  readonly res: Leavable;
  /**
   * Returns the engines for the next attempt, each time the call may be placed. Without an engine the call does not
   * wait.
   */
  findEngines(): readonly Engine[];
  /** Returns whether the call may leave an engine that does not answer. */
  mayLeave(engine: Engine): boolean;
  /** Reports the result of an attempt to the engine's health. */
  report(engine: Engine, result: AttemptResult): void;
}

/** Predicts the tokens of a model's calls from engines' counts, because the router has no tokenizer. */
class ModelHabits {
  #outputTokens = FIRST_OUTPUT_TOKENS;
  /** Counted tokens for each estimated one. */
  #tokensPerEstimate = 1;

  /** Predicts the tokens of a call by earlier calls of its model, which mostly produce far less than they may. */
  expect({ estimatedPromptTokens, maxOutputTokens }: Placement): { promptTokens: number; outputTokens: number } {
    return {
      promptTokens: estimatedPromptTokens * this.#tokensPerEstimate,
      outputTokens: Math.min(this.#outputTokens, maxOutputTokens),
    };
  }

  learn(counted: { promptTokens: number; completionTokens: number }, estimatedPromptTokens: number): void {
    this.#outputTokens += LEARNING_RATE * (counted.completionTokens - this.#outputTokens);
    if (estimatedPromptTokens === 0) return;
    const ratio = counted.promptTokens / estimatedPromptTokens;
    this.#tokensPerEstimate += LEARNING_RATE * (ratio - this.#tokensPerEstimate);
  }
}

export interface PlacerOptions {
  nowMs?: () => number;
  random?: () => number;
  /** Publishes prompts to the other routers. */
  news?: Pick<RouterNews, 'placed'>;
}

/** Places calls on engines and learns from their results. */
export class Placer {
  readonly #nowMs: () => number;
  readonly #random: () => number;
  readonly #news: Pick<RouterNews, 'placed'> | undefined;
  readonly #habits = new Map<string, ModelHabits>();

  constructor({ nowMs = () => performance.now(), random = Math.random, news }: PlacerOptions = {}) {
    this.#nowMs = nowMs;
    this.#random = random;
    this.#news = news;
  }

  /** Places a call, which counts in its engine's load until the attempt ends. Returns undefined where there is no engine. */
  place(engines: readonly Engine[], placement: Placement): Attempt | undefined {
    const { keyId, prefixHashes: hashes, promptBytes, maxOutputTokens, isStream } = placement;
    const habits = this.#habitsOf(placement.modelId);
    const { promptTokens, outputTokens } = habits.expect(placement);
    const decision = decide(engines, { prefixHashes: hashes, promptBytes, promptTokens }, this.#random);
    if (!decision) return undefined;
    const { engine, chosen, slow } = decision;
    for (const each of engines) each.load.isSlow = slow.has(each);
    // Calls measure the engines that get them; slow engines need trials.
    for (const each of slow) tryOut(each, this.#nowMs);
    const uncachedTokens = Math.max(0, promptTokens - chosen.cachedTokens);
    const tokens = { uncachedTokens, outputTokens, maxOutputTokens };
    const loaded = engine.load.open({ keyId, hashes, promptBytes, ...tokens, isStream });
    this.#news?.placed(engine.load, hashes);
    return new Attempt(decision, placement, { habits, loaded });
  }

  /**
   * Returns the expected tokens of prompt and answer, cached or not: the cost of a call for its key's share. At least
   * 1.
   */
  costOf(placement: Placement): number {
    const { promptTokens, outputTokens } = this.#habitsOf(placement.modelId).expect(placement);
    return Math.max(1, promptTokens + outputTokens);
  }

  #habitsOf(modelId: string): ModelHabits {
    const habits = this.#habits.get(modelId) ?? new ModelHabits();
    this.#habits.set(modelId, habits);
    return habits;
  }
}

/**
 * Sends a trial to a slow engine, if the last one is long enough ago. The trial counts like any call, so that its time
 * compares with the calls on other engines. If it is refused, too short or given up, clients' calls measure the engine,
 * because it must not stay out for ever.
 */
export function tryOut(engine: Pick<Engine, 'load' | 'windowTokens' | 'tryOut'>, nowMs: () => number): void {
  const { load, windowTokens = Number.POSITIVE_INFINITY } = engine;
  const sentAtMs = nowMs();
  if (sentAtMs < load.nextTrialAtMs) return;
  load.nextTrialAtMs = Number.POSITIVE_INFINITY;
  const promptTokens = Math.min(TRIAL_PROMPT_TOKENS, Math.floor(windowTokens * TRIAL_WINDOW_SHARE));
  const call = load.open({
    keyId: '',
    hashes: [],
    promptBytes: 0,
    uncachedTokens: promptTokens,
    outputTokens: TRIAL_OUTPUT_TOKENS,
    maxOutputTokens: TRIAL_OUTPUT_TOKENS,
    isStream: true,
  });
  let hasBegun = false;
  let isOver = false;
  engine.tryOut({
    promptTokens,
    outputTokens: TRIAL_OUTPUT_TOKENS,
    onFirstEvent() {
      if (!hasBegun && !isOver) load.firstEvent(call);
      hasBegun = true;
    },
    end(completionTokens = 0) {
      if (isOver) return;
      isOver = true;
      const counted = { promptTokens, cachedPromptTokens: 0, completionTokens };
      load.end(call, { kind: 'whole', usage: counted });
      load.nextTrialAtMs = nowMs() + Math.max(LEAST_TRIAL_PAUSE_MS, TRIAL_PAUSE_FACTOR * (nowMs() - sentAtMs));
      if (!hasBegun || completionTokens < MIN_PACED_TOKENS) load.pace = new EnginePace();
    },
  });
}

/** An attempt's exchange with its engine. */
export interface AttemptExchange {
  /** Ends the exchange, possibly several times, because the engine does not answer and another engine gets the call. */
  leftOut(): void;
  /** Ends an unread stream like one whose client has left, because other calls wait for its room. */
  cutUnread(): void;
}

/** The trace of a call and the metrics of its attempts. */
export interface AttemptObservation {
  span: CallSpan;
  metrics: Pick<InferenceMetrics, 'callPlaced' | 'engineFirstEvent' | 'cacheCounted' | 'streamEnded'>;
  model: PricedModel;
  /** Whether engines cache the prompt; they do not for embeddings. */
  isGenerating: boolean;
}

/** The queue that placed an attempt. */
export interface AttemptQueue {
  /** Gives turns to waiting calls, because there may be room. */
  startNext(): void;
  ended(attempt: Attempt): void;
  unread(attempt: Attempt): void;
  read(attempt: Attempt): void;
}

interface AttemptParts {
  /** The model's averages, which learn from the engine's count. */
  habits: Pick<ModelHabits, 'learn'>;
  loaded: LoadedCall;
}

/**
 * One attempt of a call on the engine it was placed on. Each event that its exchange reports goes to load, habits, room, health,
 * queue and trace, in the order of the lines below.
 */
export class Attempt implements UnheardCall {
  readonly engine: Engine;
  readonly decision: Decision;
  readonly placement: Placement;
  readonly isStream: boolean;
  readonly keyId: string;
  /**
   * Number of the attempt, from 1. A call may have a retry, engines that refuse it, and a connection that was closing.
   */
  number = 1;
  exchange: AttemptExchange | undefined;
  /** The attempt's span, and its metrics. */
  #observed: AttemptObservation | undefined;
  #beganAt = 0;
  #firstEventAt: number | undefined;
  /** Header with which the engine continues the call's trace. Set once the attempt has begun. */
  traceparent: string | undefined;
  /** The queue that placed it, and its call there. Set by the queue. */
  turn: { queue: AttemptQueue; call: QueueableCall } | undefined;
  readonly #habits: AttemptParts['habits'];
  readonly #loaded: LoadedCall;
  /** Removes the attempt from the calls without any byte from the engine. */
  readonly #heard: () => void;
  #hasBegun = false;
  #isUnread = false;
  #isOver = false;

  /** Counts the call in its engine's load until `end`. */
  constructor(decision: Decision & { engine: Engine }, placement: Placement, { habits, loaded }: AttemptParts) {
    this.engine = decision.engine;
    this.decision = decision;
    this.placement = placement;
    this.isStream = placement.isStream;
    this.keyId = placement.keyId;
    this.#habits = habits;
    this.#loaded = loaded;
    this.#heard = this.engine.unheardCalls.add(this);
  }

  /** Begins the exchange with the engine, which is shown in metrics and as a part of the call's trace. */
  begin(number: number, observation: AttemptObservation): void {
    const span = observation.span.startChild('engine', 'client');
    this.number = number;
    this.traceparent = span.traceparent;
    this.#beganAt = performance.now();
    this.#observed = { ...observation, span };
    observation.metrics.callPlaced(this.engine, this.decision.reason);
  }

  /** Notes the engine's first event, so the prompt is computed. Non-streaming answers have none. */
  firstEvent(): void {
    if (this.#hasBegun || this.#isOver) return;
    this.#hasBegun = true;
    this.engine.load.firstEvent(this.#loaded);
    this.#heard();
    this.engine.room.sayBegun();
    this.turn?.queue.startNext();
    this.#firstEventAt = performance.now();
    this.#observed?.metrics.engineFirstEvent(this.engine, (this.#firstEventAt - this.#beganAt) / 1_000);
  }

  /** Ends the attempt once. Later calls have no effect. */
  end(result: AttemptResult): void {
    if (this.#isOver) return;
    if (this.#isUnread) this.read();
    this.#isOver = true;
    this.engine.load.end(this.#loaded, result);
    const counted = result.kind === 'whole' ? result.usage : undefined;
    if (counted) this.#habits.learn(counted, this.placement.estimatedPromptTokens);
    this.#heard();
    if (result.kind === 'whole') this.engine.room.sayBegun();
    if (result.kind === 'failed' && result.fault.kind === 'engine_busy') this.engine.room.sayBusy();
    this.turn?.call.report(this.engine, result);
    this.turn?.queue.ended(this);
    if (this.#observed) this.#show(result, this.#observed);
  }

  /** Records the reason for the engine, the expected figures and the counted ones. */
  #show(result: AttemptResult, { span, metrics, model, isGenerating }: AttemptObservation): void {
    const { decision } = this;
    const counted = result.kind === 'whole' ? result.usage : undefined;
    const failed = result.kind === 'failed' ? result : undefined;
    if (counted && isGenerating && counted.promptTokens > 0 && decision.promptTokens > 0)
      metrics.cacheCounted(model, {
        expectedPart: decision.chosen.cachedTokens / decision.promptTokens,
        countedPart: counted.cachedPromptTokens / counted.promptTokens,
      });
    if (counted && this.#firstEventAt !== undefined && counted.completionTokens >= MIN_PACED_TOKENS) {
      const seconds = (performance.now() - this.#firstEventAt) / 1_000;
      if (seconds > 0) metrics.streamEnded(model, counted.completionTokens / seconds);
    }
    // Most calls are not traced, and writing the decision costs more than making it.
    if (span.traceparent !== undefined)
      span.setAttributes({
        'turnpike.engine': this.engine.id,
        ...toDecisionAttributes(decision),
        'turnpike.first_event_ms': this.#firstEventAt && Math.round(this.#firstEventAt - this.#beganAt),
        'turnpike.prompt_tokens': counted?.promptTokens,
        'turnpike.cached_prompt_tokens': counted?.cachedPromptTokens,
        'turnpike.completion_tokens': counted?.completionTokens,
        'turnpike.fault': failed?.fault.kind,
        'turnpike.reason': failed?.broken,
      });
    span.end({ isError: failed !== undefined || (result.kind === 'cut' && result.by === 'unforeseen') });
  }

  /** Moves the call to another engine, if it may, because this one does not answer. */
  leave(): void {
    if (this.turn?.call.mayLeave(this.engine)) this.exchange?.leftOut();
  }

  /** Notes that the client does not read. Its stream may be cut if other calls wait. */
  unread(): void {
    if (this.#isOver || this.#isUnread) return;
    this.#isUnread = true;
    this.turn?.queue.unread(this);
  }

  /** Notes that the client reads again. */
  read(): void {
    if (this.#isOver || !this.#isUnread) return;
    this.#isUnread = false;
    this.turn?.queue.read(this);
  }

  cutUnread(): void {
    this.exchange?.cutUnread();
  }
}
