import { MAX_USAGE_ROWS, type usageConsoleApi } from '@turnpike/console-api/console/usage';
import type { ConsoleHandlers } from '@turnpike/console-api/transport/serveConsoleApi';
import { ApiError } from '@turnpike/public-api/apiError';
import type { LedgerFault } from '../api/ledgerError.ts';
import type { Db } from '../database/createDb.ts';
import type { LookUpGate } from '../ledger/createLookUpGate.ts';
import { findUsageRequest } from '../ledger/findUsageRequest.ts';
import { listUsage } from '../ledger/listUsage.ts';
import { readSpendRate, type SpendRate } from '../ledger/readSpendRate.ts';
import type { PricesOf } from '../reconcile/priceList.ts';
import { explain, toCallBody, toCallId } from '../wire/callBody.ts';
import { toUsageSumsBody } from './bookHandlers.ts';

/** Makes the handlers of the console's usage. Each reads the books of the caller's workspace alone. */
export function createConsoleHandlers({
  lookUpDb,
  sumUp,
  lookUpCall,
  pricesOf,
}: {
  lookUpDb: Db;
  sumUp: LookUpGate;
  lookUpCall: LookUpGate;
  pricesOf: PricesOf;
}): ConsoleHandlers<typeof usageConsoleApi> {
  return {
    async listUsage({ params: { start, end, by, group, top: count, top_by: of }, caller: { workspaceId } }) {
      const groupBy = [...TIMES[by], ...GROUPINGS[group]];
      const top = count === undefined || group === 'none' ? undefined : { count, of };
      const question = { start, end, groupBy, limit: MAX_USAGE_ROWS + 1, top };
      const usage = await sumUp(workspaceId, () => listUsage(lookUpDb, { workspaceId }, question));
      if (usage.length > MAX_USAGE_ROWS) throw new ApiError<LedgerFault>(TOO_MANY_ROWS);
      return {
        usage: usage.map((entry) => ({
          start: (entry.start ?? new Date(start)).toISOString(),
          others: entry.others,
          key_id: entry.keyId,
          model: entry.model,
          modality: entry.modality,
          ...toUsageSumsBody(entry),
        })),
      };
    },
    async getSpendRate({ caller: { workspaceId } }) {
      const rate = await sumUp(workspaceId, () => readSpendRate(lookUpDb, { workspaceId, now: new Date() }));
      return {
        credit_nano_usd: String(rate.creditNanoUsd),
        per_day_nano_usd: String(rate.perDayNanoUsd),
        mean_days: Math.round((rate.meanHours * 10) / 24) / 10,
        days_left: countDaysLeft(rate),
      };
    },
    async getCall({ params: { call_id: id }, caller: { workspaceId } }) {
      const callId = toCallId(id);
      const call = await lookUpCall(workspaceId, () => findUsageRequest(lookUpDb, { callId, workspaceId }));
      if (!call) throw new ApiError({ kind: 'unknown_call' });
      return toCallBody(call, await explain(call, pricesOf));
    },
  };
}

function countDaysLeft({ creditNanoUsd, perDayNanoUsd }: SpendRate): number | null {
  if (creditNanoUsd <= 0n) return 0;
  return perDayNanoUsd === 0n ? null : Number((creditNanoUsd * 10n) / perDayNanoUsd) / 10;
}

const TIMES = { hour: ['hour'], day: ['day'], range: [] } as const;
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
