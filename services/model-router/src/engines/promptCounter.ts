import { startDeadline } from '@turnpike/lifecycle/startDeadline';
import { ApiError } from '@turnpike/public-api/apiError';
import { isInline } from '@turnpike/request-reading/images/decodeInlineImage';
import { createFairSlots, type SlotLimits, type SlotOwner } from '@turnpike/request-reading/shares/fairSlots';
import type { EngineFault } from '../api/inferenceFault.ts';
import type { PricedModel } from '../catalog/catalog.ts';
import type { CountPromptTokens, InferenceRequest } from '../request/inferenceRequest.ts';
import { type Engine, servedNameOf } from './engine.ts';
import type { EngineRegistry } from './engineRegistry.ts';
import { RefusedQuestion } from './terms/dialect.ts';
import { COUNT_ENGINES, COUNT_TIMEOUT_MS, COUNT_TURN_MS, COUNTS_AT_ONCE } from './terms/limits.ts';

export interface PromptCounterOptions {
  engines: Pick<EngineRegistry, 'findEngines'>;
  /** Limits of questions in progress. A prompt has one question, and a list of texts one each. */
  limits: SlotLimits;
}

/**
 * Creates the function that has engines count prompts: those of a model in turn, and the next one if one fails. The
 * deadlines count turns of the event loop, because time in which this process is blocked says nothing about an engine.
 */
export function createPromptCounter({ engines, limits }: PromptCounterOptions): CountPromptTokens {
  // An engine finishes a count that it has begun, even if no call waits for it.
  const slots = createFairSlots({ bound: 'prompt_counts', limits, givesWay: false });
  /** The engine that comes first, by model. */
  const turns = new Map<string, number>();

  function findNext(model: PricedModel): Engine[] {
    const serving = engines
      .findEngines(model)
      .filter((engine) => engine.isHealthy && servedNameOf(engine, model) !== undefined);
    const turn = ((turns.get(model.id) ?? 0) + 1) % Math.max(1, serving.length);
    turns.set(model.id, turn);
    return [...serving.slice(turn), ...serving.slice(0, turn)].slice(0, COUNT_ENGINES);
  }

  async function ask(question: object, { request, model, owner, signal }: Asking): Promise<number> {
    const late = new AbortController();
    const turn = startDeadline(COUNT_TURN_MS, () => late.abort());
    const slot = await slots
      .take(owner, AbortSignal.any([signal, late.signal]))
      .catch((error: unknown) => {
        throw error instanceof ApiError ? error : slots.has(owner.workspaceId) ? slots.tooMany() : overloaded();
      })
      .finally(turn.stop);
    try {
      let failure: unknown = new Error('no engine serves the model');
      for (const engine of findNext(model)) {
        try {
          const { dialect, pool } = engine;
          return await dialect.countTokens(
            pool,
            { request, question, servedName: servedNameOf(engine, model) },
            signal,
          );
        } catch (error) {
          failure = error;
          if (signal.aborted || error instanceof RefusedQuestion) break;
        }
      }
      throw failure;
    } finally {
      slot.giveBack();
    }
  }

  return async (request, model, owner) => {
    const ending = new AbortController();
    const { signal } = ending;
    const questions = request.tokenizeQuestions();
    const deadline = startDeadline(COUNT_TIMEOUT_MS, () => ending.abort());
    try {
      const remoteImages = request.images.urls.filter((url) => !isInline(url)).length;
      let sum = remoteImages * model.maxTokensPerImage;
      for (let start = 0; start < questions.length; start += COUNTS_AT_ONCE) {
        const batch = questions.slice(start, start + COUNTS_AT_ONCE);
        const counts = await Promise.all(batch.map((question) => ask(question, { request, model, owner, signal })));
        for (const count of counts) sum += count;
      }
      return sum;
    } catch (error) {
      if (error instanceof ApiError) throw error;
      return undefined;
    } finally {
      deadline.stop();
      ending.abort();
    }
  };
}

interface Asking {
  request: InferenceRequest;
  model: PricedModel;
  owner: SlotOwner;
  signal: AbortSignal;
}

const overloaded = (): ApiError<EngineFault> => new ApiError({ kind: 'overloaded', retryAfterSeconds: 1 });
