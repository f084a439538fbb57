import type { usageConsoleApi } from '@turnpike/console-api/console/usage';
import { toDecimalText } from '@turnpike/money/nanoUsd';
import { ATTO_DIGITS } from '@turnpike/money/price';
import type { z } from 'zod';
import type { UsageRequest } from '../generated/client.ts';
import { type CostLine, explainCharge } from '../ledger/explainCharge.ts';
import type { PricesOf } from '../reconcile/priceList.ts';

/** A call id, by itself or in the id of an answer, as `chatcmpl-<call id>`. */
const CALL_ID = /[\da-f]{8}-[\da-f]{4}-7[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}/i;

/** The call id in an id that a client was given; empty if there is none. */
export const toCallId = (id: string): string => CALL_ID.exec(id)?.[0] ?? '';

/** The lines that sum to a call's charge. Undefined if its prices cannot be read: a call is shown without them rather than not at all. */
export async function explain(call: UsageRequest, pricesOf: PricesOf): Promise<CostLine[] | undefined> {
  const prices = await pricesOf(call.priceVersion).catch(() => []);
  const price = prices.find(({ model }) => model === call.canonicalModel);
  return price && explainCharge(call, price.of);
}

type CallBody = z.input<typeof usageConsoleApi.routes.getCall.answer>;

/** Converts a call to JSON. The table's checks let no other status, modality and billing unit in. */
export const toCallBody = (call: UsageRequest, cost: CostLine[] | undefined): CallBody => ({
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
