import type { Knobs } from '../knobs.ts';
import { badRequest, type EngineError } from './engineError.ts';

export interface ContextOverflow {
  maxModelLen: number;
  promptTokens: number;
  /** Requested output; undefined for an embedding, which has none. */
  maxTokens: number | undefined;
}

/** The refusal of a prompt and an output that do not fit the window, in the words of a release. */
export function contextExceeded(overflow: ContextOverflow, sentence: Knobs['contextSentence']): EngineError {
  const { maxModelLen, promptTokens, maxTokens = 0 } = overflow;
  const limit = `This model's maximum context length is ${maxModelLen} tokens. However, you requested`;
  switch (sentence) {
    case 'v07':
      return badRequest(
        overflow.maxTokens === undefined
          ? `${limit} ${promptTokens} tokens in the input for embedding generation. Please reduce the length of the input.`
          : `${limit} ${promptTokens + maxTokens} tokens (${promptTokens} in the messages, ${maxTokens} in the completion). Please reduce the length of the messages or completion.`,
      );
    case 'v2026a':
      return badRequest(
        `You passed ${promptTokens} input tokens and requested ${maxTokens} output tokens. However, the model's context length is only ${maxModelLen} tokens, resulting in a maximum input length of ${Math.max(maxModelLen - maxTokens, 0)} tokens. Please reduce the length of the input prompt. (parameter=input_tokens, value=${promptTokens})`,
        'input_tokens',
      );
    case 'v032':
      return badRequest(
        `This model's maximum context length is ${maxModelLen} tokens. However, your prompt contains at least ${maxModelLen + 1} input tokens, which exceeds this limit even without any output tokens. Please reduce the length of the input prompt. (parameter=input_tokens, value=${maxModelLen + 1})`,
        'input_tokens',
      );
    case 'v2026b': {
      // Recent releases stop counting one past the window, hence `at least`.
      const counted = Math.min(promptTokens, maxModelLen + 1);
      return badRequest(
        `${limit} ${maxTokens} output tokens and your prompt contains at least ${counted} input tokens, for a total of at least ${counted + maxTokens} tokens. Please reduce the length of the input prompt or the number of requested output tokens. (parameter=input_tokens, value=${counted})`,
        'input_tokens',
      );
    }
  }
}
