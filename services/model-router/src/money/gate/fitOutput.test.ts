import { expect, it } from '@jest/globals';
import { ApiError } from '@turnpike/public-api/apiError';
import { aChatRequest } from '../../../test/aChatRequest.ts';
import { aPricedModel } from '../../../test/aPricedModel.ts';
import type { CountPromptTokens } from '../../request/inferenceRequest.ts';
import { boundUsage, fitOutput } from './admitCall.ts';

const model = aPricedModel({ contextLength: 10_000, maxOutputLength: 4_000 });
const owner = { workspaceId: 'ws_1', keyId: 'key_1' };
const LONG = { stream: true, messages: [{ role: 'user', content: 'x'.repeat(9_500) }] };

/** Fits the output of a call that was admitted by its bytes, or by a count of `admittedBy` tokens. */
async function fit(countPromptTokens: CountPromptTokens, fields: object = LONG, admittedBy?: number) {
  const request = aChatRequest(fields);
  const bound = boundUsage(request, model, admittedBy);
  return { bound, fitted: await fitOutput(countPromptTokens, { request, model, owner, bound }) };
}
const neverAsked: CountPromptTokens = async () => {
  throw new Error('an engine was asked');
};

it('asks for what is left of the window beside the prompt, and leaves the hold as it is', async () => {
  const { bound, fitted } = await fit(async () => 7_000);
  expect(bound.outputTokens).toBe(4_000);
  expect(fitted).toMatchObject({ promptTokens: 7_000, outputTokens: 3_000, worstCaseNanoUsd: bound.worstCaseNanoUsd });
  expect(boundUsage(aChatRequest(LONG), model, 7_000).worstCaseNanoUsd).toBeLessThanOrEqual(bound.worstCaseNanoUsd);
});

it.each<[string, object, number | undefined]>([
  ['that says how much it wants', { ...LONG, max_tokens: 9 }, undefined],
  ['whose bytes leave room enough', { stream: true }, undefined],
  ['whose prompt was counted at the gate', LONG, 7_000],
])('asks no engine about a call %s', async (_which, fields, admittedBy) => {
  const { bound, fitted } = await fit(neverAsked, fields, admittedBy);
  expect(fitted).toBe(bound);
});

it.each<[string, CountPromptTokens]>([
  ['no engine counts in time', async () => undefined],
  [
    'the key has its part of counts under way',
    async () => {
      throw new ApiError({ kind: 'key_bound_reached', bound: 'prompt_counts', retryAfterSeconds: 2 });
    },
  ],
])('goes by the bytes where %s', async (_case, countPromptTokens) => {
  const { bound, fitted } = await fit(countPromptTokens);
  expect(fitted).toBe(bound);
});

it('hides no mistake of ours', async () => {
  await expect(fit(neverAsked)).rejects.toThrow('an engine was asked');
});
