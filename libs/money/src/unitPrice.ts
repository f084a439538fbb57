import type { BillingUnit, MediaBillingUnit } from '@turnpike/public-api/modality';
import type { NanoUsd } from './nanoUsd.ts';
import { ATTO_PER_NANO, type AttoUsd } from './price.ts';

/** The price of one billing unit of a media model. */
export interface UnitPrice {
  billingUnit: MediaBillingUnit;
  price: AttoUsd;
}

const SECONDS_PER_MINUTE = 60;

/**
 * The charge of what was counted: exact product, rounded half-up once to a nano-dollar. What is billed by the minute is counted in
 * whole seconds, and the division comes last. More units never cost less, so a hold of the most there can be covers the charge.
 */
export function computeUnitCharge(units: number, { billingUnit, price }: UnitPrice): NanoUsd {
  const divisor = ATTO_PER_NANO * BigInt(countedPerUnit(billingUnit));
  return (BigInt(units) * price + divisor / 2n) / divisor;
}

/**
 * Converts counted units to billing units, as the API shows them beside the price of one: 90 s by the minute are 1.5.
 */
export function toUnitsConsumed(units: bigint, billingUnit: BillingUnit | null): number {
  return Number(units) / countedPerUnit(billingUnit);
}

/** Returns the counted units in a billing unit: 60 s in a minute. */
export const countedPerUnit = (billingUnit: BillingUnit | null): number =>
  billingUnit === 'minute' ? SECONDS_PER_MINUTE : 1;
