import type { Stripe } from 'stripe';
import type { Processor } from '../state/processor.ts';
import type { Buyer } from '../state/values.ts';
import { decideTax, type TaxDecision, toTaxCents } from './decideTax.ts';

/** The tax of one line. */
export interface LineTax {
  netCents: number;
  taxCents: number;
  decision: TaxDecision;
  rate: Stripe.TaxRate;
}

/** Returns the buyer that a customer is, with the tax ids that count. */
export function toBuyer(processor: Processor, customer: Stripe.Customer): Buyer {
  const taxIds = listTaxIds(processor, customer.id).filter(
    ({ verification }) => processor.knobs.reverseChargeOn === 'attached' || verification?.status === 'verified',
  );
  return {
    address: customer.address ?? null,
    taxExempt: customer.tax_exempt ?? 'none',
    taxIds: taxIds.map(({ type, value }) => ({ type, value })),
  };
}

export const listTaxIds = (processor: Processor, customer: string): Stripe.TaxId[] =>
  processor.taxIds.list().filter((each) => each.customer === customer);

/** Returns the tax of each line, or undefined if the address of the buyer does not say enough. */
export function priceSale(processor: Processor, buyer: Buyer, netCents: readonly number[]): LineTax[] | undefined {
  const decision = decideTax({
    settings: processor.settings.tax,
    registrations: processor.registrations.list(),
    ...buyer,
  });
  if (decision === undefined) return undefined;
  const rate = findRate(processor, decision);
  return netCents.map((net) => ({ netCents: net, taxCents: toTaxCents(net, decision), decision, rate }));
}

/** Returns the tax rate of a decision. The same decision has the same object each time. */
function findRate(processor: Processor, { country, state, basisPoints }: TaxDecision): Stripe.TaxRate {
  const percentage = basisPoints / 100;
  const known = processor.taxRates
    .list()
    .find((rate) => rate.country === country && rate.state === state && rate.percentage === percentage);
  const isUnitedStates = country === 'US';
  return (
    known ??
    processor.taxRates.add({
      id: processor.newId('txr'),
      object: 'tax_rate',
      active: false,
      country,
      created: processor.now(),
      description: null,
      display_name: isUnitedStates ? 'Sales Tax' : 'VAT',
      effective_percentage: percentage,
      flat_amount: null,
      inclusive: false,
      jurisdiction: state ?? country,
      jurisdiction_level: state === null ? 'country' : 'state',
      livemode: false,
      metadata: {},
      percentage,
      rate_type: 'percentage',
      state,
      tax_type: isUnitedStates ? 'sales_tax' : 'vat',
    })
  );
}

/** The taxes of invoices and credit notes. */
export const toTaxes = (lines: readonly LineTax[]): Stripe.Invoice.TotalTax[] =>
  sumByRate(lines).map(({ rate, decision, netCents, taxCents }) => ({
    amount: taxCents,
    tax_behavior: 'exclusive',
    tax_rate_details: { tax_rate: rate.id },
    taxability_reason: decision.reason,
    taxable_amount: decision.basisPoints === 0 ? 0 : netCents,
    type: 'tax_rate_details',
  }));

/** The taxes of a Checkout session and its lines. */
export const toBreakdown = (lines: readonly LineTax[]): Stripe.LineItem.Tax[] =>
  sumByRate(lines).map(({ rate, decision, netCents, taxCents }) => ({
    amount: taxCents,
    rate,
    taxability_reason: decision.reason,
    taxable_amount: decision.basisPoints === 0 ? 0 : netCents,
  }));

/** All lines of a sale have the same rate. */
function sumByRate(lines: readonly LineTax[]): LineTax[] {
  const [first] = lines;
  if (first === undefined) return [];
  return [
    { ...first, netCents: sum(lines.map((line) => line.netCents)), taxCents: sum(lines.map((line) => line.taxCents)) },
  ];
}

export const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
