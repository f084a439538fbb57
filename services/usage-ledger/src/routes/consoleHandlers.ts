import { MAX_USAGE_ROWS, type usageConsoleApi } from '@turnpike/console-api/consoleApi';
import type { ConsoleHandlers } from '@turnpike/console-api/transport/serveConsoleApi';
import { ApiError } from '@turnpike/public-api/apiError';
import type { LedgerFault } from '../api/ledgerFault.ts';
import type { Db } from '../database/createDb.ts';
import type { LookUpGate } from '../ledger/createLookUpGate.ts';
import { findUsageRequest } from '../ledger/findUsageRequest.ts';
import { listUsage } from '../ledger/listUsage.ts';
import { toUsageSumsBody } from './bookHandlers.ts';

/** Makes the handlers of the console's usage. Each reads the books of the caller's workspace alone. */
export function createConsoleHandlers({
  lookUpDb,
  lookUp,
}: {
  lookUpDb: Db;
  lookUp: LookUpGate;
}): ConsoleHandlers<typeof usageConsoleApi> {
  return {
    async listUsage({ params: { start: startDay, end: endDay, by, group }, caller: { workspaceId } }) {
      const range = { startDay, endDay, groupBy: [by, ...GROUPINGS[group]], limit: MAX_USAGE_ROWS + 1 };
      const usage = await lookUp(workspaceId, () => listUsage(lookUpDb, { workspaceId }, range));
      if (usage.length > MAX_USAGE_ROWS) throw new ApiError<LedgerFault>(TOO_MANY_ROWS);
      return {
        usage: usage.map((entry) => ({
          start: entry.start?.toISOString() ?? '',
          key_id: entry.keyId,
          model: entry.model,
          modality: entry.modality,
          ...toUsageSumsBody(entry),
        })),
      };
    },
    async getCall({ params: { call_id: callId }, caller: { workspaceId } }) {
      const call = await lookUp(workspaceId, () => findUsageRequest(lookUpDb, { callId, workspaceId }));
      if (!call) throw new ApiError({ kind: 'unknown_call' });
      return {
        call_id: call.callId,
        key_id: call.keyId,
        model: call.model,
        canonical_model: call.canonicalModel,
        status: call.status,
        prompt_tokens: call.promptTokens,
        cached_prompt_tokens: call.cachedPromptTokens,
        completion_tokens: call.completionTokens,
        charge_nano_usd: String(call.chargeNanoUsd),
        started_at: call.startedAt.toISOString(),
        ended_at: call.endedAt.toISOString(),
      };
    },
  };
}

const GROUPINGS = {
  'key,model': ['key', 'model', 'modality'],
  key: ['key'],
  model: ['model', 'modality'],
  none: [],
} as const;

const TOO_MANY_ROWS = {
  kind: 'invalid_request',
  param: 'group',
  problem: `gives more than ${MAX_USAGE_ROWS} rows: group by less, or take a shorter range`,
} as const;
