import type { Redis } from 'ioredis';
import { z } from 'zod';
import { defineScript } from '../redis/askRedis.ts';
import { redisKeys } from '../redis/redisKeys.ts';

/** A key's state in auth: the higher the generation, the later. */
export interface KeyGeneration {
  workspaceId: string;
  keyId: string;
  generation: number;
}

const raisedSchema = z.number().int();

/**
 * Makes `raiseGeneration(key)`: older records of the key are not admitted any more. Resolves with the generation in force. A
 * change of the key's status says which: of a revoked key none is admitted any more, whatever auth says later.
 */
export function createRaiseGeneration(redis: Redis) {
  const raiseGeneration = defineScript(redis, 'raiseGeneration');
  return async ({
    workspaceId,
    keyId,
    generation,
    status,
  }: KeyGeneration & { status?: 'active' | 'blocked' | 'revoked' | undefined }): Promise<number> => {
    const raised = await raiseGeneration([redisKeys.key(workspaceId, keyId)], [generation, status ?? '']);
    return raisedSchema.parse(raised);
  };
}

const setBackSchema = z.enum(['set_back', 'kept_out', 'changed']);

/**
 * Makes `setBackGeneration(key, seen)`: auth was asked anew after `seen` was in force, and gives an older record, so its database was
 * set back. Older records are admitted again, but of a key that was revoked or blocked.
 */
export function createSetBackGeneration(redis: Redis) {
  const setBackGeneration = defineScript(redis, 'setBackGeneration');
  return async ({ workspaceId, keyId, generation }: KeyGeneration, seen: number) =>
    setBackSchema.parse(await setBackGeneration([redisKeys.key(workspaceId, keyId)], [seen, generation]));
}
