import type { NanoUsd } from '@turnpike/money/nanoUsd';
import type { Db } from '../database/createDb.ts';

/** A credit as it was written, which never changes. */
export interface Credit {
  creditId: string;
  /** The order of credits: one that came later has a higher one. */
  seq: bigint;
  amountNanoUsd: NanoUsd;
  note: string;
  createdAt: Date;
}

/** A workspace's credits in the order they came: at most `limit` of those after a `seq`. */
export function listCredits(
  db: Db,
  { workspaceId, after, limit }: { workspaceId: string; after: bigint; limit: number },
): Promise<Credit[]> {
  return db.credit.findMany({ where: { workspaceId, seq: { gt: after } }, orderBy: { seq: 'asc' }, take: limit });
}
