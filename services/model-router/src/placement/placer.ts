import type { Engine } from '../engines/engine.ts';
import { EnginePace } from '../engines/engineLoad.ts';
import { MIN_PACED_TOKENS } from '../engines/terms/limits.ts';
import { Attempt } from './attempt.ts';
import { decide } from './chooseEngine.ts';
import {
  FIRST_OUTPUT_TOKENS,
  LEARNING_RATE,
  LEAST_TRIAL_PAUSE_MS,
  TRIAL_OUTPUT_TOKENS,
  TRIAL_PAUSE_FACTOR,
  TRIAL_PROMPT_TOKENS,
  TRIAL_WINDOW_SHARE,
} from './limits.ts';
import type { Placement } from './queueableCall.ts';
import type { RouterNews } from './routerNews.ts';

/** Expects the tokens of a model's calls, by the engines' own counts: the router has no tokenizer. */
class ModelHabits {
  #outputTokens = FIRST_OUTPUT_TOKENS;
  /** Tokens that an engine counts for one that we estimated. */
  #tokensPerEstimate = 1;

  /** Tokens of a call as calls of its model had them: most produce far less than they may. */
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

/** Places calls on engines and learns from how they went. */
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
    // Engines that get calls are measured by them.
    for (const each of slow) tryOut(each, this.#nowMs);
    const uncachedTokens = Math.max(0, promptTokens - chosen.cachedTokens);
    const tokens = { uncachedTokens, outputTokens, maxOutputTokens };
    const loaded = engine.load.open({ keyId, hashes, promptBytes, ...tokens, isStream });
    this.#news?.placed(engine.load, hashes);
    return new Attempt(decision, placement, { habits, loaded });
  }

  /** Expected tokens of prompt and answer, cached or not: what the call takes of its key's share. At least 1. */
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
 * Tries an engine that is slow, where the last trial is long enough ago. It counts like any call, so that its time is compared
 * with that of the calls on the other engines, and those need not be tried. A trial that tells nothing, as it is refused, too
 * short or given up, leaves it to clients' calls: an engine that can't be tried must not be left out for ever.
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
