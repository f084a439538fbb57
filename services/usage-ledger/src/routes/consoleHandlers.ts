import { MAX_USAGE_ROWS, type usageConsoleApi } from '@turnpike/console-api/consoleApi';
import type { ConsoleHandlers } from '@turnpike/console-api/transport/serveConsoleApi';
import { toDecimalText } from '@turnpike/money/nanoUsd';
import { ATTO_DIGITS } from '@turnpike/money/price';
import { ApiError } from '@turnpike/public-api/apiError';
import type { z } from 'zod';
import type { LedgerFault } from '../api/ledgerError.ts';
import type { Db } from '../database/createDb.ts';
import type { UsageRequest } from '../generated/client.ts';
import type { LookUpGate } from '../ledger/createLookUpGate.ts';
import { type CostLine, explainCharge } from '../ledger/explainCharge.ts';
import { findUsageRequest } from '../ledger/findUsageRequest.ts';
import { listUsage } from '../ledger/listUsage.ts';
import { readSpendRate, type SpendRate } from '../ledger/readSpendRate.ts';
import type { PricesOf } from '../reconcile/priceList.ts';
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
      const [callId = ''] = CALL_ID.exec(id) ?? [];
      const call = await lookUpCall(workspaceId, () => findUsageRequest(lookUpDb, { callId, workspaceId }));
      if (!call) throw new ApiError({ kind: 'unknown_call' });
      // A call is shown without its prices rather than not at all.
      const prices = await pricesOf(call.priceVersion).catch(() => []);
      const price = prices.find(({ model }) => model === call.canonicalModel);
      return toCallBody(call, price && explainCharge(call, price.of));
    },
  };
}

function countDaysLeft({ creditNanoUsd, perDayNanoUsd }: SpendRate): number | null {
  if (creditNanoUsd <= 0n) return 0;
  return perDayNanoUsd === 0n ? null : Number((creditNanoUsd * 10n) / perDayNanoUsd) / 10;
}

/** A call id, by itself or in the id of an answer, as `chatcmpl-<call id>`. */
const CALL_ID = /[\da-f]{8}-[\da-f]{4}-7[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}/i;

type CallBody = z.input<typeof usageConsoleApi.routes.getCall.answer>;

/** Converts a call to JSON. The table's checks let no other status, modality and billing unit in. */
const toCallBody = (call: UsageRequest, cost: CostLine[] | undefined): CallBody => ({
  call_id: call.callId,
  key_id: call.keyId,
  canonical_model: call.canonicalModel,
  operation: call.operation,
  modality: call.modality as CallBody['modality'],
  is_stream: call.isStream,
  status: call.status as CallBody['status'],
  reason: call.reason,
  prompt_tokens: call.promptTokens,
  cached_prompt_tokens: call.cachedPromptTokens,
  completion_tokens: call.completionTokens,
  prompt_images: call.images,
  billing_unit: call.billingUnit as CallBody['billing_unit'],
  units: call.units,
  price_version: call.priceVersion,
  cost: cost?.map(toLineBody) ?? null,
  charge_nano_usd: String(call.chargeNanoUsd),
  hold_nano_usd: String(call.holdNanoUsd),
  started_at: call.startedAt.toISOString(),
  ended_at: call.endedAt.toISOString(),
  recorded_at: call.recordedAt.toISOString(),
});

const toLineBody = (line: CostLine) => ({
  item: line.item,
  quantity: 'quantity' in line ? line.quantity : null,
  unit_price_usd: 'price' in line ? toDecimalText(line.price, ATTO_DIGITS) : null,
  per: 'per' in line ? line.per : null,
  amount_nano_usd: toDecimalText(line.amount, NANO_DIGITS_OF_ATTO),
});

/** An atto-dollar is 10^-9 nano-dollars. */
const NANO_DIGITS_OF_ATTO = 9;

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
