import type { Processor } from '../state/processor.ts';
import { sum } from '../tax/priceSale.ts';

/** Sums of one currency in cents, by the processor's own objects. */
interface Sums {
  charges: number;
  charged: number;
  refunded: number;
  lost: number;
  disputed_open: number;
  invoices_paid: number;
  invoiced: number;
  taxed: number;
  credit_notes: number;
  credited: number;
  fees: number;
  /** The balance by its transactions. */
  balance: number;
}

/** Returns what truth is judged by: sums of each currency, and the numbers of all documents. */
export function toTruth(processor: Processor): { currencies: Record<string, Sums>; numbers: string[] } {
  const charges = processor.charges.list().filter(({ status }) => status === 'succeeded');
  const currencies = Array.from(new Set(charges.map(({ currency }) => currency)));
  const of = <T extends { currency: string }>(objects: T[], currency: string) =>
    objects.filter((each) => each.currency === currency);
  const toSums = (currency: string): Sums => {
    const paid = of(processor.invoices.list(), currency).filter(({ status }) => status === 'paid');
    const notes = of(processor.creditNotes.list(), currency).filter(({ status }) => status === 'issued');
    const disputes = of(processor.disputes.list(), currency).filter(
      ({ balance_transactions: moves }) => moves.length > 0,
    );
    const refunds = of(processor.refunds.list(), currency).filter(({ status }) => status !== 'failed');
    const moves = of(processor.balanceTransactions.list(), currency);
    return {
      charges: of(charges, currency).length,
      charged: sum(of(charges, currency).map(({ amount }) => amount)),
      refunded: sum(refunds.map(({ amount }) => amount)),
      lost: sum(disputes.filter(({ status }) => status === 'lost').map(({ amount }) => amount)),
      disputed_open: sum(
        disputes.filter(({ status }) => status !== 'lost' && status !== 'won').map(({ amount }) => amount),
      ),
      invoices_paid: paid.length,
      invoiced: sum(paid.map(({ total }) => total)),
      taxed: sum(paid.flatMap(({ total_taxes: taxes }) => (taxes ?? []).map(({ amount }) => amount))),
      credit_notes: notes.length,
      credited: sum(notes.map(({ total }) => total)),
      fees: sum(moves.map(({ fee }) => fee)),
      balance: sum(moves.map(({ net }) => net)),
    };
  };
  return {
    currencies: Object.fromEntries(currencies.map((currency) => [currency, toSums(currency)])),
    numbers: processor.invoices
      .list()
      .flatMap(({ number }) => number ?? [])
      .sort(),
  };
}
