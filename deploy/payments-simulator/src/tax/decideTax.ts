import type { Stripe } from 'stripe';
import { isInEuVat, SALES_TAX_BASIS_POINTS, VAT_BASIS_POINTS } from './vatRates.ts';

export type TaxReason = 'standard_rated' | 'reverse_charge' | 'not_collecting' | 'customer_exempt';

/** The rate of a sale and its reason. */
export interface TaxDecision {
  basisPoints: number;
  reason: TaxReason;
  /** ISO code of the country that taxes the customer. */
  country: string;
  /** State of the United States, else null. */
  state: string | null;
}

export interface TaxInput {
  settings: Stripe.Tax.Settings;
  registrations: readonly Stripe.Tax.Registration[];
  address: Stripe.Address | null;
  taxExempt: string;
  /** The tax ids that count. */
  taxIds: readonly { type: string; value: string | null }[];
}

/** Decides the tax of a sale by the customer's country. Returns undefined if the address does not say enough. */
export function decideTax(input: TaxInput): TaxDecision | undefined {
  const { settings, registrations, address, taxExempt, taxIds } = input;
  // Monaco is part of France for VAT.
  const country = address?.country === 'MC' ? 'FR' : (address?.country ?? null);
  if (country === null) return undefined;
  const isUnitedStates = country === 'US';
  if (isUnitedStates && !address?.postal_code && !address?.state) return undefined;
  const state = isUnitedStates ? (address?.state ?? null) : null;
  const decide = (reason: TaxReason, basisPoints = 0): TaxDecision => ({ reason, basisPoints, country, state });

  if (taxExempt === 'exempt') return decide('customer_exempt');
  const active = registrations.filter(({ status }) => status === 'active');
  if (isUnitedStates) {
    const isRegistered = active.some(({ country_options: { us } }) => us !== undefined && us.state === state);
    return isRegistered ? decide('standard_rated', SALES_TAX_BASIS_POINTS[state ?? ''] ?? 0) : decide('not_collecting');
  }
  if (!isInEuVat(country) || !isCollectingIn(country, active)) return decide('not_collecting');
  const isForeign = country !== settings.head_office?.address.country;
  if (isForeign && (taxExempt === 'reverse' || taxIds.some(isVatIdOfTheUnion))) return decide('reverse_charge');
  return decide('standard_rated', VAT_BASIS_POINTS[country] ?? 0);
}

/** One registration for the one-stop shop covers every member state. */
const isCollectingIn = (country: string, registrations: readonly Stripe.Tax.Registration[]): boolean =>
  registrations.some(
    (registration) =>
      registration.country === country ||
      Object.values(registration.country_options).some(
        (options) => options && 'type' in options && (options.type === 'oss_union' || options.type === 'oss_non_union'),
      ),
  );

const isVatIdOfTheUnion = ({ type }: { type: string }): boolean => type === 'eu_vat';

/** Returns the tax on an amount, rounded half up to a cent. */
export const toTaxCents = (netCents: number, { basisPoints }: { basisPoints: number }): number =>
  Number((BigInt(netCents) * BigInt(basisPoints) + 5_000n) / 10_000n);
