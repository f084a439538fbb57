import type { Stripe } from 'stripe';
import type { Processor } from '../state/processor.ts';

/** Fees of a charge: hundredths of a percent, and cents for each. */
const FEES = { eur: { basisPoints: 150, cents: 25 }, usd: { basisPoints: 290, cents: 30 } };
export const DISPUTE_FEE_CENTS = 2_000;
const AVAILABLE_AFTER_SECONDS = 2 * 24 * 3_600;

interface Entry {
  type: Stripe.BalanceTransaction.Type;
  category: string;
  currency: string;
  /** Cents that the balance gains, before the fee. */
  amount: number;
  fee?: number;
  source: string | null;
  description?: string | null;
}

/** Records a movement of the seller's balance. */
export function addBalanceTransaction(processor: Processor, entry: Entry): Stripe.BalanceTransaction {
  const { type, category, currency, amount, fee = 0, source, description = null } = entry;
  return processor.balanceTransactions.add({
    id: processor.newId('txn'),
    object: 'balance_transaction',
    amount,
    available_on: processor.now() + AVAILABLE_AFTER_SECONDS,
    balance_type: 'payments',
    created: processor.now(),
    currency,
    description,
    exchange_rate: null,
    fee,
    fee_details:
      fee === 0
        ? []
        : [{ amount: fee, application: null, currency, description: 'Stripe processing fees', type: 'stripe_fee' }],
    net: amount - fee,
    reporting_category: category,
    source,
    status: 'pending',
    type,
  });
}

export function toFeeCents(amount: number, currency: string): number {
  const { basisPoints, cents } = currency === 'usd' ? FEES.usd : FEES.eur;
  return Math.round((amount * basisPoints) / 10_000) + cents;
}
