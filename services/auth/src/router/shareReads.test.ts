import { expect, it } from '@jest/globals';
import type { NanoUsd } from '@turnpike/money/nanoUsd';
import { ApiError } from '@turnpike/public-api/apiError';
import { noSpan } from '@turnpike/telemetry/callSpan';
import { shareReads } from './shareReads.ts';

/** A router that answers when a test says so. */
function aSlowRouter() {
  const questions: { keyId: string; answer: PromiseWithResolvers<NanoUsd> }[] = [];
  return {
    questions,
    ask({ keyId }: { keyId: string }): Promise<NanoUsd> {
      const answer = Promise.withResolvers<NanoUsd>();
      questions.push({ keyId, answer });
      return answer.promise;
    },
  };
}
const aKey = (keyId: string) => ({ keyId, workspaceId: 'ws_1' });

async function faultOf(promise: Promise<unknown>): Promise<string> {
  const error = await promise.catch((reason: unknown) => reason);
  return error instanceof ApiError ? error.fault.kind : `not refused: ${String(error)}`;
}

it('asks one question at a time for a key, and answers nobody from before he asked', async () => {
  const router = aSlowRouter();
  const read = shareReads(router.ask);
  const first = read(aKey('key_1'), noSpan);
  const others = Array.from({ length: 50 }, () => read(aKey('key_1'), noSpan));
  expect(router.questions).toHaveLength(1);

  router.questions[0]?.answer.resolve(1n);
  expect(await first).toBe(1n);
  expect(router.questions).toHaveLength(2);
  router.questions[1]?.answer.resolve(2n);
  expect(new Set(await Promise.all(others))).toEqual(new Set([2n]));
  expect(router.questions).toHaveLength(2);
});

it('asks for each key by itself, and afresh once nobody waits', async () => {
  const router = aSlowRouter();
  const read = shareReads(router.ask);
  const reads = [read(aKey('key_1'), noSpan), read(aKey('key_2'), noSpan)];
  for (const { answer } of router.questions) answer.resolve(1n);
  expect(await Promise.all(reads)).toEqual([1n, 1n]);
  const again = read(aKey('key_1'), noSpan);
  router.questions[2]?.answer.resolve(2n);
  expect(await again).toBe(2n);
});

it('tells those who wait what the question before theirs failed with, and asks again after that', async () => {
  const router = aSlowRouter();
  const read = shareReads(router.ask);
  const failing = [read(aKey('key_1'), noSpan), read(aKey('key_1'), noSpan)];
  router.questions[0]?.answer.reject(new ApiError({ kind: 'router_unavailable' }));
  for (const each of failing) expect(await faultOf(each)).toBe('router_unavailable');
  expect(router.questions).toHaveLength(1);
  const again = read(aKey('key_1'), noSpan);
  router.questions[1]?.answer.resolve(5n);
  expect(await again).toBe(5n);
});

it('refuses more keys at once than it has room for, and none of those it asks about', async () => {
  const router = aSlowRouter();
  const read = shareReads(router.ask);
  const reads = Array.from({ length: 256 }, (_, index) => read(aKey(`key_${index}`), noSpan));
  expect(await faultOf(read(aKey('key_256'), noSpan))).toBe('too_many_look_ups');
  const shared = read(aKey('key_0'), noSpan);
  for (const { answer } of router.questions) answer.resolve(1n);
  await Promise.all(reads);
  router.questions[256]?.answer.resolve(2n);
  expect(await shared).toBe(2n);
});
