import type { FinishReason } from '../inference/finishReason.ts';
import type { Generation } from '../inference/generation.ts';

/** What an answer and all its chunks begin with. */
export interface AnswerHead {
  id: string;
  created: number;
  model: string;
}

interface Ending {
  finishReason: FinishReason;
  stopReason: string | null;
}

/** The JSON of one kind of answer, chat or completion. */
export interface AnswerBodies {
  /** The chunk before any text, where there is one. */
  opening?: () => object;
  /** A chunk with text; the last one of the answer also says how it ended. */
  chunk(text: string, ending?: Ending): object;
  /** The chunk without choices that carries the usage. */
  usageChunk(usage: object): object;
  whole(text: string, ending: Ending, usage: object): object;
}

export function createChatBodies(head: AnswerHead): AnswerBodies {
  const chunkHead = { ...head, object: 'chat.completion.chunk' };
  return {
    opening: () => ({
      ...chunkHead,
      choices: [{ index: 0, delta: { role: 'assistant', content: '' }, logprobs: null, finish_reason: null }],
    }),
    chunk: (text, ending) => ({
      ...chunkHead,
      choices: [{ index: 0, delta: { content: text }, logprobs: null, ...toFinish(ending) }],
    }),
    usageChunk: (usage) => ({ ...chunkHead, choices: [], usage }),
    whole: (text, ending, usage) => ({
      ...head,
      object: 'chat.completion',
      choices: [
        { index: 0, message: { role: 'assistant', content: text, refusal: null }, logprobs: null, ...toFinish(ending) },
      ],
      usage,
    }),
  };
}

export function createCompletionBodies(givenHead: AnswerHead): AnswerBodies {
  const head = { ...givenHead, object: 'text_completion' };
  const chunk: AnswerBodies['chunk'] = (text, ending) => ({
    ...head,
    choices: [{ index: 0, text, logprobs: null, ...toFinish(ending) }],
  });
  return {
    chunk,
    usageChunk: (usage) => ({ ...head, choices: [], usage }),
    whole: (text, ending, usage) => ({ ...chunk(text, ending), usage }),
  };
}

const toFinish = (ending: Ending | undefined): object =>
  ending ? { finish_reason: ending.finishReason, stop_reason: ending.stopReason } : { finish_reason: null };

/** The usage up to now, which `continuous_usage_stats` puts on every chunk. */
export const toRunningUsage = ({ promptTokens, completionTokens }: Generation) => ({
  prompt_tokens: promptTokens,
  total_tokens: promptTokens + completionTokens,
  completion_tokens: completionTokens,
});

/** The usage of an answer that has ended. */
export const toUsage = (generation: Generation) => ({
  ...toRunningUsage(generation),
  prompt_tokens_details: { cached_tokens: generation.cachedTokens },
});
