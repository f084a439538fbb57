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
  /** The origin of the credit, for people. */
  note: string;
}

/**
 * Gives a workspace something to spend, or takes it where the amount is below zero, once for each credit id: true when it was
 * applied now, false when it had been before. Throws `credit_conflict` when the id is known with another workspace or amount.
 */
export async function addCredit(db: Db, credit: NewCredit): Promise<boolean> {
  const { creditId, workspaceId, amountNanoUsd } = credit;
  const inserted = await retryConflicts(() => db.execute(statements.addCredit(credit)));
  if (inserted === 1) return true;
  const known = await db.credit.findUniqueOrThrow({ where: { creditId } });
  if (known.workspaceId === workspaceId && known.amountNanoUsd === amountNanoUsd) return false;
  throw new ApiError<LedgerFault>({ kind: 'credit_conflict' });
}

/** The router asks this service and Redis, each with a deadline of its own; the operator waits for 10 s. */
const ANNOUNCE_TIMEOUT_MS = 9_000;

/**
 * Makes `announceCredit(workspaceId)`: has a router bring the workspace's credits of now to Redis, where all routers count.
 * Throws `gate_not_told` when it does not say that they are there.
 */
export function createAnnounceCredit(router: Pick<Client<typeof modelRouterApi>, 'reloadBalances'>) {
  return async function announceCredit(workspaceId: string): Promise<void> {
    const call = { params: { workspace_id: workspaceId }, timeoutMs: ANNOUNCE_TIMEOUT_MS };
    await router.reloadBalances(call).catch((error: unknown) => {
      throw new ApiError<LedgerFault>({ kind: 'gate_not_told' }, { cause: error });
    });
  };
}
