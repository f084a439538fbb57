import type { modelRouterApi } from '@turnpike/internal-api/modelRouter';
import type { Client } from '@turnpike/internal-api/transport/createClient';
import type { NanoUsd } from '@turnpike/money/nanoUsd';
import { retryConflicts } from '@turnpike/postgres/database';
import { ApiError } from '@turnpike/public-api/apiError';
import type { LedgerFault } from '../api/ledgerError.ts';
import type { Db } from '../database/createDb.ts';
import { statements } from '../database/statements.ts';

export interface NewCredit {
  creditId: string;
  workspaceId: string;
  amountNanoUsd: NanoUsd;
  /** The origin of the credit, as text. */
  note: string;
}

/**
 * Adds credit to a workspace, or takes it if the amount is negative, once for each credit id. Returns false if the id
 * was applied before. Throws `credit_conflict` if the id is known with another workspace or amount.
 */
export async function addCredit(db: Db, credit: NewCredit): Promise<boolean> {
  const { creditId, workspaceId, amountNanoUsd } = credit;
  const inserted = await retryConflicts(() => db.execute(statements.addCredit(credit)));
  if (inserted === 1) return true;
  const known = await db.credit.findUniqueOrThrow({ where: { creditId } });
  if (known.workspaceId === workspaceId && known.amountNanoUsd === amountNanoUsd) return false;
  throw new ApiError<LedgerFault>({ kind: 'credit_conflict' });
}

/** The router calls this service and Redis, each with its own deadline. The operator waits for 10 s. */
const ANNOUNCE_TIMEOUT_MS = 9_000;

/**
 * Creates `announceCredit(workspaceId)`: a router writes the workspace's current credits to Redis, where all routers
 * count. Throws `gate_not_told` if the router does not confirm that.
 */
export function createAnnounceCredit(router: Pick<Client<typeof modelRouterApi>, 'reloadBalances'>) {
  return async function announceCredit(workspaceId: string): Promise<void> {
    const call = { params: { workspace_id: workspaceId }, timeoutMs: ANNOUNCE_TIMEOUT_MS };
    await router.reloadBalances(call).catch((error: unknown) => {
      throw new ApiError<LedgerFault>({ kind: 'gate_not_told' }, { cause: error });
    });
  };
}
