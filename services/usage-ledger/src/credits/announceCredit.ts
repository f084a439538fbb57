import type { modelRouterApi } from '@turnpike/internal-api/modelRouter';
import type { Client } from '@turnpike/internal-api/transport/createClient';
import { ApiError } from '@turnpike/public-api/apiError';
import type { LedgerFault } from '../api/ledgerError.ts';

/** The router asks this service and Redis, each with a deadline of its own; the operator waits for 10 s. */
const TIMEOUT_MS = 9_000;

/**
 * Makes `announceCredit(workspaceId)`: has a router bring the workspace's credits of now to Redis, where all routers count.
 * Throws `gate_not_told` when it does not say that they are there.
 */
export function createAnnounceCredit(router: Pick<Client<typeof modelRouterApi>, 'reloadBalances'>) {
  return async function announceCredit(workspaceId: string): Promise<void> {
    const call = { params: { workspace_id: workspaceId }, timeoutMs: TIMEOUT_MS };
    await router.reloadBalances(call).catch((error: unknown) => {
      throw new ApiError<LedgerFault>({ kind: 'gate_not_told' }, { cause: error });
    });
  };
}
