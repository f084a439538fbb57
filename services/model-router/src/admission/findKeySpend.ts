import type { NanoUsd } from '@turnpike/money/nanoUsd';
import type { Redis } from 'ioredis';
import type { BalanceLoader } from './loadBalances.ts';
import { redisKeys } from './redisKeys.ts';

/** A key's spend and what its running calls hold, from the same counters the gate uses. */
export async function findKeySpend(
  { redis, balances }: { redis: Redis; balances: BalanceLoader },
  { workspaceId, keyId }: { workspaceId: string; keyId: string },
): Promise<{ spentNanoUsd: NanoUsd; heldNanoUsd: NanoUsd }> {
  if ((await redis.exists(redisKeys.wallet(workspaceId))) === 0) await balances.load(workspaceId);
  const [spent, held] = await redis.hmget(redisKeys.key(workspaceId, keyId), 'spent', 'held');
  return { spentNanoUsd: BigInt(spent ?? 0), heldNanoUsd: BigInt(held ?? 0) };
}
