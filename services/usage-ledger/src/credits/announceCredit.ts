import { ApiError } from '@turnpike/api-errors/apiError';
import { request } from 'undici';
import type { LedgerFault } from '../api/ledgerFault.ts';
import type { RouterOptions } from '../reconcile/fetchRedisBooks.ts';

/** The router asks this service and Redis, each with a deadline of its own; the operator waits for 10 s. */
const TIMEOUT_MS = 9_000;

/**
 * Makes `announceCredit(workspaceId)`: has a router bring the workspace's credits of now to Redis, where all routers count.
 * Throws `gate_not_told` when it does not say that they are there.
 */
export function createAnnounceCredit({ routerUrl, internalHeaders }: RouterOptions) {
  return async function announceCredit(workspaceId: string): Promise<void> {
    try {
      const url = `${routerUrl}/internal/workspaces/${encodeURIComponent(workspaceId)}/balances/reload`;
      const { statusCode, body } = await request(url, {
        method: 'POST',
        headers: internalHeaders('model-router'),
        signal: AbortSignal.timeout(TIMEOUT_MS),
      });
      await body.dump();
      if (statusCode !== 200) throw new Error(`model-router answered ${statusCode} to news of a credit`);
    } catch (error) {
      throw new ApiError<LedgerFault>({ kind: 'gate_not_told' }, { cause: error });
    }
  };
}
