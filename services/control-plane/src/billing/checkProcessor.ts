import type { Logger } from '@turnpike/logging/createLogger';
import Stripe from 'stripe';
import type { Payments } from './paymentProcessor.ts';

/** The processor's settings are not those that payments need. */
class ProcessorNotReady extends Error {}

/**
 * Checks the settings of the account at the processor: its key, tax, registrations and the numbering of invoices. Throws
 * `ProcessorNotReady` with each problem and its remedy where real money is paid, and logs them where none is. A processor that does not
 * answer is logged, because a start must not depend on it.
 */
export async function checkProcessor(
  { stripe, isLive }: Pick<Payments, 'stripe' | 'isLive'>,
  log: Logger,
): Promise<void> {
  let problems: string[];
  try {
    problems = await listProblems(stripe, log);
  } catch (error) {
    if (!(error instanceof Stripe.errors.StripeError)) throw error;
    log.error({ err: error }, 'the settings of the payment processor cannot be checked: it does not answer');
    return;
  }
  if (problems.length === 0) return;
  const message = `The payment processor is not ready. ${problems.join(' ')}`;
  if (isLive) throw new ProcessorNotReady(`${message} docs/runbooks/payment-processor.md has the settings.`);
  log.warn(`${message} With a live key this service would not start.`);
}

async function listProblems(stripe: Stripe, log: Logger): Promise<string[]> {
  const problems: string[] = [];
  try {
    const { status, status_details: details } = await stripe.tax.settings.retrieve();
    const missing = details.pending?.missing_fields?.join(', ') ?? 'some fields';
    if (status !== 'active')
      problems.push(`Tax is not active, because it lacks ${missing}: complete the tax settings.`);
    const { data: registrations } = await stripe.tax.registrations.list({ status: 'active', limit: 1 });
    if (registrations.length === 0)
      problems.push('No tax registration is active, so no tax would be charged: add those of the seller.');
    const numbering = await findNumbering(stripe);
    if (numbering === 'customer')
      problems.push('Invoices are numbered for each customer: choose one sequence for the account.');
    if (numbering === 'unknown')
      log.warn(
        'There is no invoice yet, so its numbering is not known: see that one sequence of the account is chosen.',
      );
  } catch (error) {
    if (!isRefusedKey(error)) throw error;
    problems.push('The secret key is refused, or may not read tax settings, registrations and invoices: replace it.');
  }
  return problems;
}

const isRefusedKey = (error: unknown): boolean =>
  error instanceof Stripe.errors.StripeAuthenticationError || error instanceof Stripe.errors.StripePermissionError;

/** Tells the two kinds of numbering apart by the newest invoice: one of a customer's own sequence begins with the customer's prefix. */
async function findNumbering(stripe: Stripe): Promise<'account' | 'customer' | 'unknown'> {
  const { data } = await stripe.invoices.list({ status: 'paid', limit: 1, expand: ['data.customer'] });
  const [invoice] = data;
  const customer = invoice?.customer;
  if (!invoice?.number || typeof customer !== 'object' || customer === null || customer.deleted) return 'unknown';
  return customer.invoice_prefix && invoice.number.startsWith(`${customer.invoice_prefix}-`) ? 'customer' : 'account';
}
