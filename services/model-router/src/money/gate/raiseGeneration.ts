import type { Redis } from 'ioredis';
import { z } from 'zod';
import { redisKeys } from '../redis/redisKeys.ts';
import { defineScript } from '../redis/redisScript.ts';

const answerSchema = z.number().int();

/** Makes `raiseGeneration(key)`: older records of the key are not admitted any more. Resolves with the generation in force. */
export function createRaiseGeneration(
  redis: Redis,
): (key: { workspaceId: string; keyId: string; generation: number }) => Promise<number> {
  const raiseGeneration = defineScript(redis, new URL('./raiseGeneration.lua', import.meta.url));
  return async ({ workspaceId, keyId, generation }) =>
    answerSchema.parse(await raiseGeneration([redisKeys.key(workspaceId, keyId)], [generation]));
}
