import { expect, it } from '@jest/globals';
import { editCompletionAnswer } from './completions.ts';

const anAnswer = (choice: object = {}): Buffer =>
  Buffer.from(
    JSON.stringify({
      id: 'cmpl-1',
      object: 'text_completion',
      created: 1_790_000_000,
      model: 'engine-name',
      choices: [
        {
          index: 0,
          text: ' über',
          logprobs: null,
          finish_reason: 'length',
          stop_reason: null,
          prompt_logprobs: null,
          ...choice,
        },
      ],
      system_fingerprint: 'vllm-0.29.0-1a2b3c4d',
      usage: { prompt_tokens: 9, total_tokens: 12, completion_tokens: 3 },
      kv_transfer_params: null,
    }),
  );
const options = {
  callId: 'call-1',
  engine: { repeatsCallIds: true },
  canonicalModel: 'small-chat',
  isCacheCapable: true,
  chargeOf: () => 2_010n,
};

it('shows the convention’s fields, the canonical model and the cache counts, and nothing an engine adds', () => {
  const answer = editCompletionAnswer(anAnswer(), options);
  expect(answer.kind === 'answer' && JSON.parse(String(answer.payload))).toEqual({
    id: 'cmpl-1',
    object: 'text_completion',
    created: 1_790_000_000,
    model: 'small-chat',
    choices: [{ index: 0, text: ' über', logprobs: null, finish_reason: 'length' }],
    usage: {
      prompt_tokens: 9,
      completion_tokens: 3,
      total_tokens: 12,
      prompt_tokens_details: { cached_tokens: 0 },
      completion_tokens_details: { reasoning_tokens: 0 },
      cache_read_input_tokens: 0,
      cache_creation_input_tokens: 9,
      cost: 0.00000201,
    },
  });
});

it.each([
  ['an aborted answer', { finish_reason: 'abort' }, { kind: 'error', status: 500 }],
  ['a choice without a text', { text: null }, { kind: 'broken' }],
])('does not take %s for an answer', (_case, choice, expected) => {
  expect(editCompletionAnswer(anAnswer(choice), options)).toEqual(expected);
});
