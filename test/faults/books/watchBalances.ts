import type { Redis } from 'ioredis';
import type { Account } from '../account.ts';

const INTERVAL_MS = 200;

/** Looks at every wallet while calls run: what is held and what has ended never passes what is left. */
export function watchBalances(
  stack: { readonly redis: Redis },
  accounts: readonly Account[],
  report: (what: string, example: string) => void,
): { close(): void } {
  const look = async (): Promise<void> => {
    for (const { workspaceId } of accounts) {
      const { left, held = '0', ended = '0' } = await stack.redis.hgetall(`{${workspaceId}}:wallet`);
      if (left === undefined) continue;
      const isOver = BigInt(held) + BigInt(ended) > BigInt(left);
      if (isOver) report('a wallet has more pending than is left', `${workspaceId}: ${held} + ${ended} of ${left}`);
      if (BigInt(held) < 0n || BigInt(ended) < 0n)
        report('a wallet went below zero', `${workspaceId}: held ${held}, ended ${ended}`);
    }
  };
  // Redis that is away has nothing to show.
  const timer = setInterval(() => void look().catch(() => undefined), INTERVAL_MS);
  return { close: () => clearInterval(timer) };
}
