import type { NanoUsd } from '@turnpike/money/nanoUsd';
import { ATTO_PER_NANO, type AttoUsd, computeCharge, type TextPrices } from '@turnpike/money/price';
import { computeUnitCharge, countedPerUnit, type UnitPrice } from '@turnpike/money/unitPrice';
import type { UsageRequest } from '../generated/client.ts';

const MEDIA_ITEMS = { image: 'images', second: 'seconds', character: 'characters', minute: 'seconds' } as const;

/** A product in a charge: `quantity` × `price` ÷ `per`. */
interface Product {
  item:
    | 'uncached_prompt_tokens'
    | 'cached_prompt_tokens'
    | 'completion_tokens'
    | 'prompt_images'
    | 'request'
    | (typeof MEDIA_ITEMS)[keyof typeof MEDIA_ITEMS];
  quantity: number;
  price: AttoUsd;
  /** Counted units that the price is for: 60 seconds for a price per minute. */
  per: number;
  amount: AttoUsd;
}

/** A correction of the products: to whole nano-dollars, and to the hold where the products exceed it. */
interface Correction {
  item: 'rounding' | 'hold_limit';
  amount: AttoUsd;
}

export type CostLine = Product | Correction;

type ChargedCall = Pick<
  UsageRequest,
  | 'status'
  | 'promptTokens'
  | 'cachedPromptTokens'
  | 'completionTokens'
  | 'images'
  | 'billingUnit'
  | 'units'
  | 'chargeNanoUsd'
  | 'formulaNanoUsd'
>;

/**
 * Returns the lines that sum exactly to a call's charge. A call that is not a success costs nothing and has no lines. Returns undefined
 * if the prices do not give the recorded charge.
 */
export function explainCharge(call: ChargedCall, prices: TextPrices | UnitPrice): CostLine[] | undefined {
  if (call.status !== 'success') return [];
  const products = 'billingUnit' in prices ? listUnits(call, prices) : listTokens(call, prices);
  if (priceAnew(call, prices) !== call.formulaNanoUsd) return undefined;
  const total = products.reduce((sum, { amount }) => sum + amount, 0n);
  const corrections: Correction[] = [
    { item: 'rounding', amount: call.formulaNanoUsd * ATTO_PER_NANO - total },
    { item: 'hold_limit', amount: (call.chargeNanoUsd - call.formulaNanoUsd) * ATTO_PER_NANO },
  ];
  return [...products, ...corrections.filter(({ amount }) => amount !== 0n)];
}

function priceAnew(call: ChargedCall, prices: TextPrices | UnitPrice): NanoUsd | undefined {
  if (!('billingUnit' in prices)) return call.units === null ? computeCharge(call, prices) : undefined;
  return call.units !== null && prices.billingUnit === call.billingUnit
    ? computeUnitCharge(call.units, prices)
    : undefined;
}

function listTokens(call: ChargedCall, prices: TextPrices): Product[] {
  const toProduct = (item: Product['item'], quantity: number, price: AttoUsd): Product => ({
    item,
    quantity,
    price,
    per: 1,
    amount: BigInt(quantity) * price,
  });
  return [
    toProduct('uncached_prompt_tokens', call.promptTokens - call.cachedPromptTokens, prices.prompt),
    toProduct('cached_prompt_tokens', call.cachedPromptTokens, prices.inputCacheRead),
    toProduct('completion_tokens', call.completionTokens, prices.completion),
    toProduct('prompt_images', call.images, prices.image),
    toProduct('request', prices.request > 0n ? 1 : 0, prices.request),
  ].filter(({ quantity }) => quantity > 0);
}

function listUnits({ units }: ChargedCall, { billingUnit, price }: UnitPrice): Product[] {
  const quantity = units ?? 0;
  const per = countedPerUnit(billingUnit);
  // Rounded half-up where a minute's price has no exact sixtieth. The line of rounding takes what is left.
  const amount = (BigInt(quantity) * price + BigInt(per) / 2n) / BigInt(per);
  return [{ item: MEDIA_ITEMS[billingUnit], quantity, price, per, amount }];
}
