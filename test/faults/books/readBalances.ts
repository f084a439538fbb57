import type { Redis } from 'ioredis';

/** What the gate counts with: a limited amount's two parts, in nano-dollars. */
export interface Balance {
  spent: bigint;
  held: bigint;
}

/** One workspace in Redis. */
export interface WorkspaceBalances {
  /** Undefined where Redis has no balances of the workspace. */
  wallet: (Balance & { credited: bigint }) | undefined;
  keys: Map<string, Balance>;
  /** By `YYYY-MM`. */
  months: Map<string, Balance>;
  /** Calls that are held, or whose event the event log may not have. */
  openCalls: number;
}

const amount = (text: string | undefined): bigint => BigInt(text ?? 0);

export async function readBalances(
  redis: Redis,
  workspaceId: string,
  keyIds: readonly string[],
): Promise<WorkspaceBalances> {
  const wallet = await redis.hgetall(`{${workspaceId}}:wallet`);
  const keys = new Map<string, Balance>();
  for (const keyId of keyIds) {
    const { spent, held } = await redis.hgetall(`{${workspaceId}}:key:${keyId}`);
    keys.set(keyId, { spent: amount(spent), held: amount(held) });
  }
  const months = new Map<string, Balance>();
  for (const [field, value] of Object.entries(await redis.hgetall(`{${workspaceId}}:months`))) {
    const [month = '', part] = field.split(':');
    const balance = months.get(month) ?? { spent: 0n, held: 0n };
    if (part === 'spent' || part === 'held') months.set(month, { ...balance, [part]: amount(value) });
  }
  const openCalls = await redis.zcard(`{${workspaceId}}:calls`);
  const hasWallet = Object.keys(wallet).length > 0;
  return {
    wallet: hasWallet
      ? { spent: amount(wallet.spent), held: amount(wallet.held), credited: amount(wallet.credited) }
      : undefined,
    keys,
    months,
    openCalls,
  };
}
