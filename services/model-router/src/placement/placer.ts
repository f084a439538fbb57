import type { EngineLoad } from '../engines/engineLoad.ts';
import { findSlow, usualFirstEvent } from '../engines/pace.ts';
import { Attempt } from '../engines/terms/attempt.ts';
import { chooseEngine } from './chooseEngine.ts';
import { FIRST_OUTPUT_TOKENS, LEARNING_RATE } from './limits.ts';
import { type Tryable, tryOut } from './trial.ts';

/** What calls of one model come to, learned from the engines' own counts: the router has no tokenizer. */
class ModelHabits {
  #outputTokens = FIRST_OUTPUT_TOKENS;
  /** Tokens that an engine counts for one that we estimated. */
  #tokensPerEstimate = 1;

  /** What a call will come to: it will produce far less than it may in most cases. */
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

/** What placement wants to know of an engine. */
export interface PlaceableEngine extends Tryable {
  readonly id: string;
  /** Capacity beside the other engines of the model; 1 where it is not given. */
  readonly weight?: number | undefined;
}

/** A call that wants a place. */
export interface Placement {
  modelId: string;
  keyId: string;
  /** Chained hashes of the prompt's leading blocks. */
  prefixHashes: readonly number[];
  /** Rendered bytes of the whole prompt, hashed or not. */
  promptBytes: number;
  /** As far as can be told without a tokenizer. */
  estimatedPromptTokens: number;
  maxOutputTokens: number;
  /** Its first event is heard: a whole answer has none. */
  isStream: boolean;
}

/** Places calls on engines and learns from how they went. */
export interface Placer {
  /** The engine a call goes to, with its tokens counted there from now on until the attempt ends. Undefined when there is none. */
  place<Engine extends PlaceableEngine>(engines: readonly Engine[], placement: Placement): Attempt<Engine> | undefined;
  /** What a call will come to, by what calls of its model came to before. */
  expectTokens(placement: Placement): { promptTokens: number; outputTokens: number };
}

const NONE_SLOW: ReadonlySet<never> = new Set();

/** Makes a placer. What is known of an engine is its load. `onPlaced` hears which engine, by its load, was sent which prompt. */
export function createPlacer({
  nowMs = () => performance.now(),
  random = Math.random,
  onPlaced = () => {},
}: {
  nowMs?: () => number;
  random?: () => number;
  onPlaced?: (load: EngineLoad, hashes: readonly number[]) => void;
} = {}): Placer {
  const habitsOf = new Map<string, ModelHabits>();

  function getHabits(modelId: string): ModelHabits {
    const known = habitsOf.get(modelId);
    if (known) return known;
    const habits = new ModelHabits();
    habitsOf.set(modelId, habits);
    return habits;
  }

  return {
    place(engines, placement) {
      const { keyId, prefixHashes: hashes, promptBytes, isStream } = placement;
      const habits = getHabits(placement.modelId);
      const { promptTokens, outputTokens } = habits.expect(placement);
      const paced = engines.map((engine) => ({ engine, weight: engine.weight ?? 1, pace: engine.load.pace }));
      // One alone is compared with no other.
      const usualMs = paced.length > 1 ? usualFirstEvent(paced) : undefined;
      const slow = paced.length > 1 ? findSlow(paced) : NONE_SLOW;
      const quick = paced.filter((candidate) => !slow.has(candidate));
      const compared = quick.length > 0 ? quick : paced;
      for (const candidate of paced) candidate.engine.load.isSlow = !compared.includes(candidate);
      // Those that get calls are measured by them.
      if (quick.length > 0) for (const { engine } of slow) tryOut(engine, nowMs);
      const candidates = compared.map(({ engine, weight }) => {
        const { id, load } = engine;
        const lateTokens = usualMs === undefined ? 0 : load.lateTokens(usualMs / weight);
        return {
          id,
          weight,
          engine,
          loadTokens: (load.loadTokens + lateTokens) / weight,
          cachedTokens: promptTokens * load.cachedShareOf(hashes, promptBytes),
        };
      });
      const choice = chooseEngine(candidates, { leadingHash: hashes[0], tokens: promptTokens }, random);
      if (!choice) return undefined;
      const { chosen, reason } = choice;
      const attempt = new Attempt(chosen.engine, { reason, chosen, candidates, promptTokens });
      const uncachedTokens = Math.max(0, promptTokens - chosen.cachedTokens);
      attempt.subscribe(
        chosen.engine.load.open({ keyId, hashes, promptBytes, uncachedTokens, outputTokens, isStream }),
      );
      onPlaced(chosen.engine.load, hashes);
      attempt.subscribe({
        end(result) {
          const counted = result.kind === 'answered' ? result.counted : undefined;
          if (counted) habits.learn(counted, placement.estimatedPromptTokens);
        },
      });
      return attempt;
    },
    expectTokens: (placement) => getHabits(placement.modelId).expect(placement),
  };
}
