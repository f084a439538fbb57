import { type Candidate, type ChoiceReason, chooseEngine } from './chooseEngine.ts';
import { type CountedCall, EngineBook, type EngineReport } from './engineBook.ts';
import { findSlow, usualFirstEvent } from './findSlow.ts';
import { followCall } from './followCall.ts';
import { ModelHabits } from './modelHabits.ts';
import { type Tryable, tryOut } from './tryOut.ts';

/** What placement wants to know of an engine; where the rest is absent it goes by what this router has sent there. */
export interface PlaceableEngine extends EngineReport, Tryable {
  readonly id: string;
  /** Capacity beside the other engines of the model; 1 where it is not given. */
  readonly weight?: number | undefined;
}

/** A call that wants a place. */
export interface Placement {
  modelId: string;
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

/** Why a call went where it did: all that the choice was made by. */
export interface Decision {
  readonly reason: ChoiceReason;
  readonly chosen: Candidate;
  /** Every engine that was compared. */
  readonly candidates: readonly Candidate[];
  /** What the prompt was expected to come to. */
  readonly promptTokens: number;
}

/** A call on its engine, whose tokens count there until it ends. */
export interface PlacedCall<Engine> {
  readonly engine: Engine;
  readonly decision: Decision;
  /** Tokens of its prompt that the engine is expected to compute: it has the others cached. */
  readonly uncachedTokens: number;
  /** The engine's first event is here: the prompt is computed. */
  onFirstEvent(): void;
  /** The call is over on this engine; `counted` is the engine's own count, where it gave one. Later ends mean nothing. */
  end(counted: CountedCall | undefined): void;
}

/** Places calls on engines and learns from how they went. */
export interface Placer {
  /** The engine a call goes to, with its tokens counted there from now on. Undefined when there is none. */
  place<Engine extends PlaceableEngine>(
    engines: readonly Engine[],
    placement: Placement,
  ): PlacedCall<Engine> | undefined;
  /** What a call will come to, by what calls of its model came to before. */
  expectTokens(placement: Placement): { promptTokens: number; outputTokens: number };
  /** Tokens of this router's calls under way there: prompts still to be computed, and answers. */
  tokensInFlightOn(engine: { readonly id: string }): number;
  /** Whether it is left out as much slower than the others, and tried with calls of the router's own. */
  isSlow(engine: { readonly id: string }): boolean;
}

interface Known<Engine> extends Candidate {
  engine: Engine;
  book: EngineBook;
}

/** Makes a placer. What it knows of an engine goes with the engine's object. */
export function createPlacer({
  nowMs = () => performance.now(),
  random = Math.random,
}: {
  nowMs?: () => number;
  random?: () => number;
} = {}): Placer {
  const books = new WeakMap<{ readonly id: string }, EngineBook>();
  const habitsOf = new Map<string, ModelHabits>();

  function bookOf(engine: PlaceableEngine): EngineBook {
    const known = books.get(engine);
    if (known) return known;
    const book = new EngineBook();
    books.set(engine, book);
    return book;
  }

  function getHabits(modelId: string): ModelHabits {
    const known = habitsOf.get(modelId);
    if (known) return known;
    const habits = new ModelHabits();
    habitsOf.set(modelId, habits);
    return habits;
  }

  return {
    place(engines, placement) {
      const { prefixHashes: hashes, promptBytes, maxOutputTokens, estimatedPromptTokens } = placement;
      const habits = getHabits(placement.modelId);
      const promptTokens = habits.promptTokensOf(estimatedPromptTokens);
      const outputTokens = habits.outputTokensOf(maxOutputTokens);
      const placedAtMs = nowMs();
      const paced = engines.map((engine) => ({ engine, weight: engine.weight ?? 1, book: bookOf(engine) }));
      const usualMs = usualFirstEvent(paced);
      const candidates = paced.map(({ engine, weight, book }): Known<(typeof engines)[number]> => {
        const { id } = engine;
        book.follow(engine);
        const foreignTokens = book.foreignCalls(placedAtMs) * (promptTokens + outputTokens);
        const lateTokens = usualMs === undefined ? 0 : book.lateTokens(placedAtMs, usualMs / weight);
        return {
          id,
          weight,
          engine,
          book,
          loadTokens: (book.loadTokens + foreignTokens + lateTokens) / weight,
          cachedTokens: promptTokens * book.cachedShareOf(hashes, promptBytes),
        };
      });
      const prompt = { leadingHash: hashes[0], tokens: promptTokens };
      const slow = findSlow(candidates);
      const quick = candidates.filter((candidate) => !slow.has(candidate));
      const compared = quick.length > 0 ? quick : candidates;
      for (const candidate of candidates) candidate.book.isSlow = !compared.includes(candidate);
      // Those that get calls are measured by them.
      if (quick.length > 0) for (const { engine, book } of slow) tryOut(engine, book, nowMs);
      const choice = chooseEngine(compared, prompt, random);
      if (!choice) return undefined;
      const { chosen, reason } = choice;
      const { engine, book, cachedTokens } = chosen;
      const uncachedTokens = Math.max(0, promptTokens - cachedTokens);
      const entry = book.open(
        { hashes, promptBytes, uncachedTokens, outputTokens, isStream: placement.isStream },
        placedAtMs,
      );
      const call = followCall(entry, book.pace, nowMs);
      return {
        engine,
        decision: { reason, chosen, candidates: compared, promptTokens },
        uncachedTokens,
        onFirstEvent: call.onFirstEvent,
        end(counted) {
          if (!call.end(counted?.completionTokens) || !counted) return;
          habits.learn(counted, estimatedPromptTokens);
          entry.correct(counted);
        },
      };
    },
    expectTokens({ modelId, estimatedPromptTokens, maxOutputTokens }) {
      const habits = getHabits(modelId);
      return {
        promptTokens: habits.promptTokensOf(estimatedPromptTokens),
        outputTokens: habits.outputTokensOf(maxOutputTokens),
      };
    },
    tokensInFlightOn: (engine) => books.get(engine)?.tokensInFlight ?? 0,
    isSlow: (engine) => books.get(engine)?.isSlow ?? false,
  };
}
