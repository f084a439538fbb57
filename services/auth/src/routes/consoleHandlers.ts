import type { keysConsoleApi } from '@turnpike/console-api/console/keys';
import type { ConsoleHandlers } from '@turnpike/console-api/transport/serveConsoleApi';
import { spanOf } from '@turnpike/http-service/observeRequests';
import { beginOf } from '@turnpike/internal-api/budgetPeriod';
import type { ConsoleCaller } from '@turnpike/internal-auth/consoleToken';
import { ApiError } from '@turnpike/public-api/apiError';
import type { Response } from 'express';
import type { AuthServiceFault } from '../api/authServiceError.ts';
import type { StatusChange } from '../keys/changeKeyStatus.ts';
import { toLowerCap } from '../keys/findKey.ts';
import { findKeys } from '../keys/findKeys.ts';
import { listKeyChanges } from '../keys/keyAudit.ts';
import { getKeyDetails, listKeyDetails } from '../keys/keyDetails.ts';
import type { RouterClient } from '../router/routerClient.ts';
import { shareReads } from '../router/shareReads.ts';
import { toKeyChangeBody, toKeyDetailsBody } from '../wire/keyDetailsBody.ts';
import { toKeyUpdate } from '../wire/keyUpdate.ts';
import { PAGE_SIZE } from '../wire/page.ts';
import { getWorkspace } from '../workspaces/readWorkspaces.ts';
import type { HandlerDependencies } from './handlerDependencies.ts';
import { createKeyChanges } from './keyChanges.ts';
import { toPage } from './keyHandlers.ts';

/** Keys of an answer that finds keys, unless its question says how many. */
const FOUND_KEYS = 50;

interface ConsoleDependencies extends HandlerDependencies {
  router: Pick<RouterClient, 'announceGenerations' | 'getKeySpend' | 'getCredit'>;
}

/** Makes the handlers of the console's keys. Each reads and changes keys of the caller's workspace alone. */
export function createConsoleHandlers(dependencies: ConsoleDependencies): ConsoleHandlers<typeof keysConsoleApi> {
  const { db, router } = dependencies;
  const getKeySpend = shareReads(router.getKeySpend);
  const getCredit = shareReads(router.getCredit);
  const changes = createKeyChanges(dependencies);
  const changeStatus =
    (change: StatusChange) =>
    ({ params: { key_id: keyId }, caller: by }: { params: { key_id: string }; caller: ConsoleCaller }, res: Response) =>
      changes.changeStatus({ keyId, by, change }, res);
  return {
    listKeys: async ({ params: { after }, caller: { workspaceId } }) =>
      toPage(await listKeyDetails(db, { workspaceId }, { after, limit: PAGE_SIZE })),
    async findKeys({ params, caller: { workspaceId } }) {
      const { find, states, ids, ended_playground: ended, skip = 0, take = FOUND_KEYS } = params;
      const search = { find, states, ids, leavesOutEndedPlayground: ended === 'left_out', skip, take };
      const { keys, found, leftOut } = await findKeys(db, workspaceId, search);
      return { keys: keys.map(toKeyDetailsBody), found, left_out: leftOut };
    },
    createKey: ({ body, caller: by }, res) =>
      changes.createKey({ by, body: { ...body, workspace_id: by.workspaceId } }, res),
    updateKey: async ({ params: { key_id: keyId }, body, caller: by }, res) =>
      toKeyDetailsBody(await changes.updateKey({ keyId, by, update: toKeyUpdate(body) }, res)),
    async rotateKey({ params: { key_id: keyId }, body, caller: by }, res) {
      const { key, isGateTold } = await changes.rotateKey({ keyId, by, body }, res);
      return { key: toKeyDetailsBody(key), gate_told: isGateTold };
    },
    endOldSecret: async ({ params: { key_id: keyId }, caller: by }, res) =>
      toKeyDetailsBody(await changes.endOldSecret({ keyId, by }, res)),
    blockKey: changeStatus('block'),
    unblockKey: changeStatus('unblock'),
    revokeKey: changeStatus('revoke'),
    async listKeyChanges({ params: { before, key_id: ofKey }, caller: { workspaceId } }) {
      const { changes: lines, next } = await listKeyChanges(db, { workspaceId, keyId: ofKey, before });
      return { changes: lines.map(toKeyChangeBody), next };
    },
    async getKeyHeadroom({ params, caller }, res) {
      const key = await getKeyDetails(db, params.key_id);
      const { keyId, workspaceId, maxBudgetNanoUsd, rpm, tpm } = key;
      if (workspaceId !== caller.workspaceId) throw new ApiError<AuthServiceFault>({ kind: 'unknown_key' });
      const { period_budget: periodBudget } = toKeyDetailsBody(key);
      const asked = { workspaceId, keyId, rates: { rpm, tpm }, period: periodBudget?.period };
      const spend = await getKeySpend(asked, spanOf(res)).catch(refuse);
      return {
        key_id: keyId,
        spend_nano_usd: String(spend.spentNanoUsd),
        held_nano_usd: String(spend.heldNanoUsd),
        max_budget_nano_usd: maxBudgetNanoUsd?.toString() ?? null,
        period_budget: periodBudget && {
          ...periodBudget,
          spend_nano_usd: spend.periodSpentNanoUsd?.toString() ?? null,
          resets_at: beginOf(periodBudget.period, Date.now(), 1).toISOString(),
        },
        rpm,
        tpm,
        used_requests: spend.usedRequests ?? null,
        used_tokens: spend.usedTokens ?? null,
      };
    },
    async getCredit({ caller: { workspaceId } }, res) {
      const workspace = await getWorkspace(db, workspaceId);
      // The reads are shared by key id. The id of the workspace takes its place.
      const credit = await getCredit({ workspaceId, keyId: workspaceId }, spanOf(res)).catch(refuse);
      return {
        credit_nano_usd: String(credit.creditNanoUsd),
        held_nano_usd: String(credit.heldNanoUsd),
        month_spend_nano_usd: String(credit.monthSpentNanoUsd),
        monthly_cap_nano_usd: toLowerCap(workspace)?.toString() ?? null,
        month_ends_at: beginOf('month', Date.now(), 1).toISOString(),
      };
    },
  };
}

function refuse(cause: unknown): never {
  throw new ApiError({ kind: 'balances_unavailable' }, { cause });
}
