import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { Generation } from '../engine/generation.ts';
import { Sequence } from '../engine/sequence.ts';
import { bendPlan } from '../faults/bendPlan.ts';
import type { Fault } from '../faults/fault.ts';
import { deriveKey, deriveKeyFromText, type RandomKey } from '../generation/counterRandom.ts';
import type { Directives } from '../generation/directives.ts';
import type { OutputPlan } from '../generation/outputPlan.ts';
import type { TokenId } from '../tokenizer/tokenizer.ts';
import type { SamplingRequest } from '../wire/samplingFields.ts';
import { stopStrings } from './checkSampling.ts';
import type { EngineContext } from './engineContext.ts';
import type { ServedModel } from './findServedModel.ts';

const ROOT_KEY: RandomKey = { low: 0x243f6a88, high: 0x85a308d3 };

/** One prompt of a request and what is to be said after it. */
export interface PlannedPrompt {
  tokens: readonly TokenId[];
  maxTokens: number;
  directives: Directives;
  planOf: (key: RandomKey) => OutputPlan;
}

export interface ReadyRequest {
  sampling: SamplingRequest;
  model: ServedModel;
  prompts: readonly PlannedPrompt[];
  fault: Fault | undefined;
  /** Prefix of the answer's id: `chatcmpl`, `cmpl` or `embd`. */
  idPrefix: string;
}

/** Makes the choices of a request that passed every check and its entry in the log; nothing runs before `start`. */
export function createGeneration(
  req: IncomingMessage,
  { sampling, model, prompts, fault, idPrefix }: ReadyRequest,
  { engine, clock, log }: EngineContext,
): Generation {
  const choicesPerPrompt = sampling.n ?? 1;
  const sequences = prompts.flatMap((prompt) => {
    const promptKey = keyOf(sampling, prompt.tokens, { model: model.name, seed: engine.config.seed });
    return Array.from(
      { length: choicesPerPrompt },
      (_, index) =>
        new Sequence({
          promptTokens: prompt.tokens,
          cacheScope: `${model.adapter ?? ''}\0${sampling.cache_salt ?? ''}`,
          adapter: model.adapter,
          plan: bendPlan(prompt.planOf(deriveKey(promptKey, [index])), fault),
          maxTokens: prompt.maxTokens,
          minTokens: sampling.min_tokens ?? 0,
          stop: stopStrings(sampling),
          fault,
          timeToFirstTokenMs: timeToFirstTokenMsOf(prompt.directives, fault),
          interTokenMs: prompt.directives.interTokenMs,
        }),
    );
  });
  const requestId = requestIdOf(req);
  const entry = {
    requestId,
    responseId: `${idPrefix}-${requestId ?? randomUUID().replaceAll('-', '')}`,
    port: engine.config.port,
    model: model.name,
    isStream: sampling.stream === true,
    promptTokens: prompts.reduce((sum, { tokens }) => sum + tokens.length, 0),
    cachedTokens: 0,
    completionTokens: 0,
    finishReason: null,
    state: 'running' as const,
    receivedAt: clock.unixMs(),
    endedAt: null,
  };
  return new Generation({ sequences, choicesPerPrompt, entry, engine, clock, log });
}

function requestIdOf(req: IncomingMessage): string | null {
  const header = req.headers['x-request-id'];
  return typeof header === 'string' && header !== '' ? header : null;
}

const timeToFirstTokenMsOf = (directives: Directives, fault: Fault | undefined): number | undefined =>
  fault?.kind === 'slow_first_event' ? (fault.forMs ?? Number.POSITIVE_INFINITY) : directives.timeToFirstTokenMs;

/** What stands for a model wherever its name decides something. */
export const keyOfModel = (model: string): RandomKey => deriveKeyFromText(ROOT_KEY, model);

/** Decides the text: the model, the rendered prompt, and the seed and temperature unless the temperature is zero. */
function keyOf(
  { seed, temperature = 1 }: SamplingRequest,
  promptTokens: readonly TokenId[],
  engine: { model: string; seed: number },
): RandomKey {
  const promptKey = deriveKey(keyOfModel(engine.model), promptTokens);
  return temperature === 0 ? promptKey : deriveKeyFromText(promptKey, `${seed ?? engine.seed} ${temperature}`);
}
