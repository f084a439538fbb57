import type { NanoUsd } from '@turnpike/money/nanoUsd';
import type { Redis } from 'ioredis';
import type { RedisEpoch } from '../redis/redisEpoch.ts';
import { redisKeys } from '../redis/redisKeys.ts';
import type { BalanceLoader } from './loadBalances.ts';

/** A key's spend and what its running calls hold, from the same counters the gate uses. */
export async function findKeySpend(
  { redis, balances, epoch }: { redis: Redis; balances: BalanceLoader; epoch: Pick<RedisEpoch, 'stamp'> },
  { workspaceId, keyId }: { workspaceId: string; keyId: string },
): Promise<{ spentNanoUsd: NanoUsd; heldNanoUsd: NanoUsd }> {
  const number = String(epoch.stamp.number);
  if ((await redis.hget(redisKeys.wallet(workspaceId), 'epoch')) !== number) await balances.load(workspaceId);
  const [counted, spent, held] = await redis.hmget(redisKeys.key(workspaceId, keyId), 'epoch', 'spent', 'held');
  if (counted !== number) return { spentNanoUsd: 0n, heldNanoUsd: 0n };
  return { spentNanoUsd: BigInt(spent ?? 0), heldNanoUsd: BigInt(held ?? 0) };
}
