import { callingKey } from '@turnpike/authentication/keyGuard';
import { spanOf } from '@turnpike/http-service/observeRequests';
import type { RequestHandler } from 'express';
import type { RouterClient } from '../router/routerClient.ts';
import { toBudgetBody, toCreditBody } from '../wire/creditBody.ts';

/**
 * GET /v1/svc/credit: what the calling key can still spend. A key with budgets of its own sees the smaller
 * rest of them, and nothing of its workspace.
 */
export function getCredit(router: Pick<RouterClient, 'getKeySpend' | 'getCredit'>): RequestHandler {
  return async (_req, res) => {
    const key = callingKey(res);
    const { maxBudgetNanoUsd, periodBudget, workspace, keyId } = key;
    const address = { workspaceId: workspace.workspaceId, keyId };
    const body =
      maxBudgetNanoUsd === null && periodBudget === null
        ? toCreditBody(await router.getCredit(address, spanOf(res)), workspace)
        : toBudgetBody(await router.getKeySpend({ ...address, period: periodBudget?.period }, spanOf(res)), key);
    res.json({ ...body, generated_at: new Date().toISOString() });
  };
}
