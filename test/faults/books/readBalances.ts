import type { Cluster, Redis } from 'ioredis';

/** The gate's counters of a limited amount, in nano-dollars. */
export interface Balance {
  /**
   * The recorded charges plus those of ended calls that the ledger's sums do not contain yet. Undefined if the recorded sums were not read
   * from the ledger, or not since Redis was replaced.
   */
  spent: bigint | undefined;
  held: bigint;
}

/** One workspace in Redis. */
export interface WorkspaceBalances {
  /** Undefined where Redis has no sums of the workspace. */
  wallet:
    | {
        /** Credited less recorded, as of the ledger's `sequence`. */
        left: bigint;
        sequence: number;
        held: bigint;
        ended: bigint;
      }
    | undefined;
  keys: Map<string, Balance>;
  /** Months as `YYYY-MM`. */
  months: Map<string, Balance>;
  /** Calls that run, or that the sums do not contain. */
  pendingCalls: number;
}

const amount = (text: string | undefined): bigint => BigInt(text ?? 0);

export async function readBalances(
  redis: Redis | Cluster,
  workspaceId: string,
  keyIds: readonly string[],
): Promise<WorkspaceBalances> {
  const wallet = await redis.hgetall(`{${workspaceId}}:wallet`);
  const { left, sequence, held, ended, loaded: mark } = wallet;
  const keys = new Map<string, Balance>();
  for (const keyId of keyIds) keys.set(keyId, toBalance(await redis.hgetall(`{${workspaceId}}:key:${keyId}`), mark));
  const ofMonths = await redis.hgetall(`{${workspaceId}}:months`);
  const monthNames = new Set(Object.keys(ofMonths).map((field) => field.slice(0, 'YYYY-MM'.length)));
  const months = new Map([...monthNames].map((month) => [month, toBalance(ofMonths, mark, `${month}:`)]));
  const pendingCalls = await redis.hlen(`{${workspaceId}}:calls`);
  return {
    wallet:
      left === undefined
        ? undefined
        : { left: amount(left), sequence: Number(sequence), held: amount(held), ended: amount(ended) },
    keys,
    months,
    pendingCalls,
  };
}

function toBalance(fields: Record<string, string>, mark: string | undefined, prefix = ''): Balance {
  const spent = fields[`${prefix}loaded`] === mark ? fields[`${prefix}spent`] : undefined;
  return {
    spent: spent === undefined ? undefined : amount(spent) + amount(fields[`${prefix}ended`]),
    held: amount(fields[`${prefix}held`]),
  };
}
