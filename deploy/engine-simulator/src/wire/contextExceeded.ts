import type { Knobs } from '../knobs.ts';
import { badRequest, type EngineError } from './engineError.ts';

export interface ContextOverflow {
  maxModelLen: number;
  promptTokens: number;
  /** Requested output; an embedding has none. */
  maxTokens: number;
}

/** The refusal of a prompt and an output that do not fit the window, in the words that go with the rule. */
export function contextExceeded(
  { maxModelLen, promptTokens, maxTokens }: ContextOverflow,
  rule: Knobs['windowRule'],
): EngineError {
  // Counting stops one past the window, hence `at least`.
  const counted = Math.min(promptTokens, maxModelLen + 1);
  const excess =
    rule === 'prompt'
      ? `your prompt contains at least ${counted} input tokens, which exceeds this limit even without any output tokens. Please reduce the length of the input prompt.`
      : `you requested ${maxTokens} output tokens and your prompt contains at least ${counted} input tokens, for a total of at least ${counted + maxTokens} tokens. Please reduce the length of the input prompt or the number of requested output tokens.`;
  return badRequest(
    `This model's maximum context length is ${maxModelLen} tokens. However, ${excess} (parameter=input_tokens, value=${counted})`,
    'input_tokens',
  );
}
