import { PAGE_SIZE } from '@turnpike/internal-api/controlPlane';
import { sql } from '@turnpike/postgres/sql';
import { ApiError } from '@turnpike/public-api/apiError';
import type { Db } from '../database/openDatabase.ts';
import { walletOf } from './post.ts';

/** Returns the sums of a workspace's wallet. Throws `workspace_not_found`. */
export async function readWallet(db: Db, workspaceId: string) {
  const [sums] = await db.query(sql<{ credited: string; spent: string; balance: string }>`
    SELECT credited_nano_usd::TEXT AS credited, spent_nano_usd::TEXT AS spent, (credited_nano_usd - spent_nano_usd)::TEXT AS balance
    FROM wallet WHERE workspace_id = ${workspaceId}`);
  if (!sums) throw new ApiError({ kind: 'workspace_not_found' });
  return {
    workspace_id: workspaceId,
    credited_nano_usd: sums.credited,
    spent_nano_usd: sums.spent,
    balance_nano_usd: sums.balance,
  };
}

interface TransferRow {
  id: string;
  amount: string;
  code: string;
  source: string;
  postedAt: Date;
}

/** Lists the transfers of a wallet in the order of their ids, 500 a page. Amounts that leave the wallet are below zero. */
export async function listTransfers(db: Db, { workspaceId, after }: { workspaceId: string; after: string }) {
  await readWallet(db, workspaceId);
  const wallet = walletOf(workspaceId);
  const rows = await db.query(sql<TransferRow>`
    SELECT transfer_id AS id, (CASE credit WHEN ${wallet} THEN amount ELSE -amount END)::TEXT AS amount, code, source,
      posted_at AS "postedAt"
    FROM transfer WHERE (debit = ${wallet} OR credit = ${wallet}) AND unit = 'nano_usd' AND transfer_id > ${after}
    ORDER BY transfer_id LIMIT ${PAGE_SIZE}`);
  return {
    transfers: rows.map(({ id, amount, code, source, postedAt }) => ({
      transfer_id: id,
      amount_nano_usd: amount,
      code,
      source,
      posted_at: postedAt.toISOString(),
    })),
    next_after: rows.length < PAGE_SIZE ? null : (rows.at(-1)?.id ?? null),
  };
}
