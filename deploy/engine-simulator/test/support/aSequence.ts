import { Sequence } from '../../src/engine/sequence.ts';
import { fixedTokens } from '../../src/generation/outputPlan.ts';
import { encode } from '../../src/tokenizer/tokenizer.ts';

/** A choice of `tokens` words after a prompt of `promptTokens`; prompts with the same `word` share their beginning. */
export function aSequence({
  tokens = 5,
  promptTokens = 20,
  word = 'a',
  cacheSalt = '',
  maxTokens = 1_000,
  timeToFirstTokenMs,
  interTokenMs,
}: {
  tokens?: number;
  promptTokens?: number;
  word?: string;
  cacheSalt?: string;
  maxTokens?: number;
  timeToFirstTokenMs?: number;
  interTokenMs?: number;
} = {}): Sequence {
  return new Sequence({
    promptTokens: encode(word.repeat(3)).concat(new Array(promptTokens - 1).fill(65)),
    cacheSalt,
    plan: {
      segments: [{ kind: 'content', tokens: fixedTokens(new Array(tokens - 1).fill(65)) }],
      finishReason: 'stop',
    },
    maxTokens,
    minTokens: 0,
    stop: [],
    fault: undefined,
    timeToFirstTokenMs,
    interTokenMs,
  });
}
