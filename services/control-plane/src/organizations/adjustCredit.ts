import type { Region } from '@turnpike/config/region';
import { sql } from '@turnpike/postgres/sql';
import { ApiError } from '@turnpike/public-api/apiError';
import { type Origin, writeAudit } from '../audit/audit.ts';
import type { Db } from '../database/openDatabase.ts';
import { tell } from '../feed/feed.ts';
import { post, walletOf } from '../ledger/post.ts';
import { lockOrganization } from './workspaces.ts';

/** Credit that an operator gave in the region of a workspace, or took there where it is below zero. */
interface Adjustment {
  workspaceId: string;
  creditId: string;
  amountNanoUsd: bigint;
  note: string;
  by: string;
}

/**
 * Books credit that the region of a workspace has from an operator, and tells the region, which knows it by its id. Returns false and
 * changes nothing if the wallet has it. Throws `workspace_not_found`, or `credit_conflict` if the wallet has another amount under the id.
 */
export async function adjustCredit(
  db: Db,
  { workspaceId, creditId, amountNanoUsd, note, by }: Adjustment,
  origin: Origin,
): Promise<boolean> {
  return db.$transaction(async (tx) => {
    const workspace = await tx.workspace.findUnique({ where: { workspaceId } });
    if (!workspace) throw new ApiError({ kind: 'workspace_not_found' });
    const { organizationId, region } = workspace;
    await lockOrganization(tx, organizationId);
    const wallet = walletOf(workspaceId);
    const known = await tx.$queryRaw<{ amount: bigint }[]>(sql`
      SELECT CASE credit WHEN ${wallet} THEN amount ELSE -amount END AS amount
      FROM transfer WHERE source = ${creditId} AND unit = 'nano_usd' AND ${wallet} IN (debit, credit)`);
    if (known.some(({ amount }) => amount !== amountNanoUsd)) throw new ApiError({ kind: 'credit_conflict' });
    if (known.length > 0) return false;
    // Each region has credit ids of its own.
    const id = `${creditId}:${workspaceId}:adjusted`;
    await post(tx, creditId, [
      amountNanoUsd > 0n
        ? { id, unit: 'nano_usd', debit: 'promo_given', credit: wallet, amount: amountNanoUsd, code: 'adjusted' }
        : { id, unit: 'nano_usd', debit: wallet, credit: 'promo_given', amount: -amountNanoUsd, code: 'adjusted_back' },
    ]);
    await tell(tx, region as Region, {
      ...{ kind: 'credit', credit_id: creditId, workspace_id: workspaceId, nano_usd: String(amountNanoUsd) },
      note: note.slice(0, 200).toWellFormed(),
    });
    await writeAudit(tx, origin, {
      ...{ organizationId, actor: by, action: 'credit.adjusted', target: workspaceId },
      after: { credit_id: creditId, nano_usd: String(amountNanoUsd) },
    });
    return true;
  });
}
