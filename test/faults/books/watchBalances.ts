import type { Redis } from 'ioredis';
import type { Account } from '../account.ts';

const INTERVAL_MS = 200;

/** Looks at every wallet while calls run: what is spent and held together never passes what was credited. */
export function watchBalances(
  redis: Redis,
  accounts: readonly Account[],
  report: (what: string, example: string) => void,
): { close(): void } {
  const look = async (): Promise<void> => {
    for (const { workspaceId } of accounts) {
      const { credited, spent = '0', held = '0' } = await redis.hgetall(`{${workspaceId}}:wallet`);
      if (credited === undefined) continue;
      const isOver = BigInt(spent) + BigInt(held) > BigInt(credited);
      if (isOver)
        report('a wallet spent or held more than it has', `${workspaceId}: ${spent} + ${held} of ${credited}`);
      if (BigInt(held) < 0n || BigInt(spent) < 0n)
        report('a wallet went below zero', `${workspaceId}: spent ${spent}, held ${held}`);
    }
  };
  // Redis that is away has nothing to show.
  const timer = setInterval(() => void look().catch(() => undefined), INTERVAL_MS);
  return { close: () => clearInterval(timer) };
}
