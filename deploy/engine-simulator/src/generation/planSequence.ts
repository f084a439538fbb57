import type { EngineConfig } from '../config.ts';
import { Sequence } from '../engine/sequence.ts';
import type { FaultRules } from '../faults/faultRules.ts';
import type { AskedFor } from '../http/engineContext.ts';

import type { TokenId } from '../tokenizer/tokenizer.ts';
import { findAskedText } from '../wire/chatRequest.ts';
import { badRequest } from '../wire/engineError.ts';
import { type SamplingRequest, stopStrings } from '../wire/samplingFields.ts';
import { deriveKey, deriveKeyFromText, type RandomKey } from './counterRandom.ts';
import { DirectiveError, type Directives, parseDirectives } from './directives.ts';
import { planOutput } from './planOutput.ts';

const ROOT_KEY: RandomKey = { low: 0x243f6a88, high: 0x85a308d3 };

/** Returns the key of a model for all random decisions that depend on its name. */
export const keyOfModel = (model: string): RandomKey => deriveKeyFromText(ROOT_KEY, model);

/** Plans the sequence of a request. Throws a 400 for an unknown directive. */
export function planSequence(
  asked: AskedFor,
  { config, faultRules }: { config: EngineConfig; faultRules: FaultRules },
): Sequence {
  const { promptTokens, maxTokens } = asked;
  const sampling: SamplingRequest = asked.task === 'embedding' ? {} : asked.request;
  const directives = readDirectives(asked);
  return new Sequence({
    promptTokens,
    cacheSalt: sampling.cache_salt ?? '',
    plan: planOutput(asked, {
      directives,
      key: keyOf(sampling, promptTokens, config),
      isReasoningModel: config.reasoningParser !== undefined,
    }),
    maxTokens,
    minTokens: sampling.min_tokens ?? 0,
    stop: stopStrings(sampling),
    // A fault of the request takes precedence over the rules of the admin port.
    fault: directives.fault ?? faultRules.take(config.port),
    timeToFirstTokenMs: directives.timeToFirstTokenMs,
    interTokenMs: directives.interTokenMs,
  });
}

/** Returns the text that may hold directives, and the parameter that an error about them names. */
function textOf(asked: AskedFor): { text: string; turn: number; param: string } {
  switch (asked.task) {
    case 'chat':
      return { ...findAskedText(asked.request.messages), param: 'messages' };
    case 'completion':
      return { text: asked.request.prompt, turn: 1, param: 'prompt' };
    case 'embedding':
      return { text: [asked.request.input].flat().join('\n'), turn: 1, param: 'input' };
  }
}

function readDirectives(asked: AskedFor): Directives {
  const { text, turn, param } = textOf(asked);
  try {
    return parseDirectives(text, turn);
  } catch (error) {
    if (error instanceof DirectiveError) throw badRequest(error.message, param);
    throw error;
  }
}

/** Decides the text: the model, the rendered prompt, and the seed and temperature unless the temperature is zero. */
function keyOf(
  { seed = 0, temperature = 1 }: SamplingRequest,
  promptTokens: readonly TokenId[],
  { servedModelName }: EngineConfig,
): RandomKey {
  const promptKey = deriveKey(keyOfModel(servedModelName), promptTokens);
  const key = temperature === 0 ? promptKey : deriveKeyFromText(promptKey, `${seed} ${temperature}`);
  return deriveKey(key, [0]);
}
