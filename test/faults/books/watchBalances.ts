import type { Cluster, Redis } from 'ioredis';
import type { Account } from '../account.ts';

const INTERVAL_MS = 200;

/** Looks at every wallet while calls run: nothing in it goes below zero. What is spent beyond the credit the rows tell (`findOverspend.ts`). */
export function watchBalances(
  stack: { readonly redis: Redis | Cluster },
  accounts: readonly Account[],
  report: (what: string, example: string) => void,
): { close(): void } {
  const look = async (): Promise<void> => {
    for (const { workspaceId } of accounts) {
      const { held = '0', ended = '0' } = await stack.redis.hgetall(`{${workspaceId}}:wallet`);
      if (BigInt(held) < 0n || BigInt(ended) < 0n)
        report('a wallet went below zero', `${workspaceId}: held ${held}, ended ${ended}`);
    }
  };
  // Redis that is away has nothing to show.
  const timer = setInterval(() => void look().catch(() => undefined), INTERVAL_MS);
  return { close: () => clearInterval(timer) };
}
