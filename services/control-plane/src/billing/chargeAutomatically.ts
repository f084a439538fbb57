import { sql } from '@turnpike/postgres/sql';
import Stripe from 'stripe';
import type { Db } from '../database/openDatabase.ts';
import { NotOver } from '../jobs/workEach.ts';
import { isOnHold } from '../organizations/workspaces.ts';
import type { Currency } from './currencies.ts';
import type { Payments } from './paymentProcessor.ts';
import { type Found, PaymentDiffers, readInvoicePayment } from './readPayment.ts';
import { findTaxChange, removeLostTaxIds } from './taxIds.ts';
import type { TopUpState } from './topUpStates.ts';

/** An automatic top-up that is not over. */
export interface AutomaticTopUp {
  topUpId: string;
  organizationId: string;
  state: TopUpState;
  currency: Currency;
  netCents: bigint;
  /** The saved card. */
  cardId: string | null;
  askedInvoiceId: string | null;
  /** No attempt begins after this instant. It is sooner than the processor forgets idempotency keys. */
  sessionEndsAt: Date;
}

/** The outcome of an automatic top-up so far. `code` is the processor's word for why it charged nothing. */
export type FoundCharge =
  | Extract<Found, { state: 'paid' }>
  | { state: 'wants_cardholder'; paymentUrl: string }
  | { state: 'declined'; code: string }
  | { state: 'expired' };

/** The processor has no such card any more. */
export const CARD_GONE = 'card_gone';
/** Waited for a cardholder who did not come. */
const NOT_PAID = 'cardholder_did_not_pay';
/** The bank wants to ask the cardholder. */
const ASKS = new Set(['authentication_required', 'invoice_payment_intent_requires_action']);

interface Dependencies {
  db: Db;
  payments: Payments;
}

/**
 * Takes the charge of a saved card as far as it goes now, from the state in which the processor has its invoice. Each step has an
 * idempotency key of the top-up, and an invoice is paid once. So a repeated call and calls at the same time charge once. Charges nothing
 * while the organization is on hold, or after the end of the top-up. Throws if the processor gives no answer, and `NotOver` while the tax
 * is not known.
 */
export async function chargeAutomatically(dependencies: Dependencies, topUp: AutomaticTopUp): Promise<FoundCharge> {
  const { db, payments } = dependencies;
  const isDue = topUp.sessionEndsAt <= new Date();
  const mayCharge = !isDue && !(await isOnHold(db, topUp.organizationId));
  let invoiceId = topUp.askedInvoiceId ?? undefined;
  try {
    if (invoiceId === undefined && !mayCharge) return { state: 'expired' };
    invoiceId ??= await askForInvoice(dependencies, topUp);
    if (invoiceId === undefined) return { state: 'expired' };
    return await advance(dependencies, topUp, { invoiceId, mayCharge });
  } catch (error) {
    const code = toRefusal(error);
    if (code === undefined) throw error;
    const paid = invoiceId === undefined ? undefined : await discard(payments.stripe, invoiceId);
    if (paid) return readInvoicePayment(payments.stripe, paid, topUp);
    return mayCharge ? { state: 'declined', code } : { state: 'expired' };
  }
}

/**
 * Makes the draft of the invoice, and stores its id before anything else is done with it. Returns undefined if another settler has ended
 * the top-up since, and removes the draft.
 */
async function askForInvoice(
  { db, payments: { stripe } }: Dependencies,
  topUp: AutomaticTopUp,
): Promise<string | undefined> {
  const { topUpId, organizationId, currency, cardId } = topUp;
  const [account] = await db.query(sql<{ customer: string | null }>`
    SELECT psp_customer AS customer FROM billing_account WHERE organization_id = ${organizationId}`);
  if (!account?.customer || cardId === null) throw new Error(`top-up ${topUpId} has no card to charge`);
  const draft = await stripe.invoices.create(
    {
      ...{ customer: account.customer, currency, default_payment_method: cardId, auto_advance: false },
      ...{ collection_method: 'charge_automatically', automatic_tax: { enabled: true } },
      ...{ pending_invoice_items_behavior: 'exclude', metadata: { top_up_id: topUpId } },
    },
    { idempotencyKey: `${topUpId}:invoice` },
  );
  const stored = await db.execute(sql`
    UPDATE top_up SET asked_invoice_id = ${draft.id} WHERE top_up_id = ${topUpId} AND state NOT IN ('declined', 'expired')`);
  if (stored === 1) return draft.id;
  await discard(stripe, draft.id);
  return undefined;
}

async function advance(
  { db, payments: { stripe, taxCode } }: Dependencies,
  topUp: AutomaticTopUp,
  { invoiceId, mayCharge }: { invoiceId: string; mayCharge: boolean },
): Promise<FoundCharge> {
  const { topUpId, currency, netCents } = topUp;
  let invoice = await stripe.invoices.retrieve(invoiceId);
  if (invoice.status === 'draft') {
    if (!mayCharge) {
      await stripe.invoices.del(invoiceId);
      return { state: 'expired' };
    }
    const change = await db.$transaction((tx) => findTaxChange(tx, topUp.organizationId));
    if (change) throw new NotOver(change);
    const customer = toId(invoice.customer);
    await removeLostTaxIds({ db, stripe }, { organizationId: topUp.organizationId, customer });
    await stripe.invoiceItems.create(
      {
        ...{ customer, invoice: invoiceId, currency, amount: Number(netCents), description: 'API credit' },
        ...{ tax_behavior: 'exclusive', tax_code: taxCode },
      },
      { idempotencyKey: `${topUpId}:item` },
    );
    const key = { idempotencyKey: `${topUpId}:finalize` };
    invoice = await stripe.invoices.finalizeInvoice(invoiceId, { auto_advance: false }, key);
  }
  if (invoice.currency !== currency || BigInt(invoice.subtotal) !== netCents)
    throw new PaymentDiffers(`the amounts of invoice ${invoiceId} are not those of its top-up`);
  if (invoice.status === 'open') {
    const isWaiting = topUp.state === 'wants_cardholder';
    if (!mayCharge) {
      await stripe.invoices.voidInvoice(invoiceId);
      return isWaiting ? { state: 'declined', code: NOT_PAID } : { state: 'expired' };
    }
    const paymentUrl = invoice.hosted_invoice_url ?? '';
    if (isWaiting) return { state: 'wants_cardholder', paymentUrl };
    try {
      const key = { idempotencyKey: `${topUpId}:pay` };
      invoice = await stripe.invoices.pay(invoiceId, { off_session: true }, key);
    } catch (error) {
      if (wantsCardholder(error)) return { state: 'wants_cardholder', paymentUrl };
      throw error;
    }
  }
  if (invoice.status === 'paid') return readInvoicePayment(stripe, invoice, topUp);
  return invoice.attempted ? { state: 'declined', code: 'declined' } : { state: 'expired' };
}

const toId = (customer: string | { id: string } | null): string =>
  typeof customer === 'string' ? customer : (customer?.id ?? '');

const wantsCardholder = (error: unknown): boolean =>
  error instanceof Stripe.errors.StripeCardError &&
  [error.code, error.decline_code].some((code) => code !== undefined && ASKS.has(code));

/** Returns the code of a request that the processor refused for good. Undefined for any other error. */
function toRefusal(error: unknown): string | undefined {
  if (error instanceof Stripe.errors.StripeCardError) return error.decline_code ?? error.code ?? 'declined';
  if (!(error instanceof Stripe.errors.StripeInvalidRequestError) || (error.statusCode ?? 0) === 409) return undefined;
  const isCardGone = error.code === 'resource_missing' && (error.param ?? '').endsWith('payment_method');
  return isCardGone ? CARD_GONE : (error.code ?? 'refused');
}

/** Makes sure that an invoice is never paid. Returns it if it was paid meanwhile. Throws if it may still be paid. */
async function discard(stripe: Stripe, invoiceId: string): Promise<Stripe.Invoice | undefined> {
  const invoice = await findInvoice(stripe, invoiceId);
  try {
    if (invoice?.status === 'draft') await stripe.invoices.del(invoiceId);
    if (invoice?.status === 'open') await stripe.invoices.voidInvoice(invoiceId);
    return invoice?.status === 'paid' ? invoice : undefined;
  } catch (error) {
    // Another settler may have paid or voided the invoice since it was read.
    const now = await findInvoice(stripe, invoiceId);
    if (now?.status === 'draft' || now?.status === 'open') throw error;
    return now?.status === 'paid' ? now : undefined;
  }
}

const findInvoice = (stripe: Stripe, invoiceId: string): Promise<Stripe.Invoice | undefined> =>
  stripe.invoices.retrieve(invoiceId).catch((error: unknown) => {
    if (error instanceof Stripe.errors.StripeInvalidRequestError && error.statusCode === 404) return undefined;
    throw error;
  });
