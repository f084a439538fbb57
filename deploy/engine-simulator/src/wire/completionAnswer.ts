import { type AnswerIdentity, createChunks, type StreamChunks, toAnswerBody, type WholeAnswer } from './answer.ts';
import type { Usage } from './usage.ts';

/** Writes the events of one legacy completion stream. There is no role. */
export const createCompletionChunks = (
  identity: AnswerIdentity,
  { runningUsageOf }: { runningUsageOf: number | undefined },
): StreamChunks =>
  createChunks(identity, {
    object: 'text_completion',
    runningUsageOf,
    runningDetails: {},
    toChoice: (delta, end) =>
      JSON.stringify({
        index: 0,
        text: delta?.text ?? '',
        logprobs: null,
        finish_reason: end?.finishReason ?? null,
        stop_reason: end?.stopReason ?? null,
        prompt_token_ids: null,
        token_ids: null,
      }),
  });

/** The body of a whole legacy completion. */
export const toCompletionBody = (
  identity: AnswerIdentity,
  { deltas, finishReason, stopReason }: WholeAnswer,
  usage: Usage,
): object =>
  toAnswerBody(identity, {
    object: 'text_completion',
    choice: {
      index: 0,
      text: deltas.map(({ text }) => text).join(''),
      logprobs: null,
      finish_reason: finishReason,
      stop_reason: stopReason,
      token_ids: null,
      prompt_logprobs: null,
      prompt_token_ids: null,
      routed_experts: null,
    },
    usage,
    promptFields: {},
  });
