import type { IncomingMessage, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import type { Stripe } from 'stripe';
import {
  answerBank,
  customerOf,
  enterAddress,
  expireDueSessions,
  paySession,
  priceSession,
} from '../payments/checkout.ts';
import type { Outcome } from '../payments/intents.ts';
import { findCard } from '../state/cards.ts';
import type { Processor } from '../state/processor.ts';
import { readAddress } from './addressFields.ts';
import { bankPage, checkoutPage, endedPage } from './checkoutPage.ts';
import { toMoney } from './page.ts';
import { redirect, sendHtml } from './send.ts';

/** Serves the page of a Checkout session, and the question of the bank. */
export async function serveCheckout(
  processor: Processor,
  req: IncomingMessage,
  res: ServerResponse,
  { id, isBank }: { id: string; isBank: boolean },
): Promise<void> {
  expireDueSessions(processor);
  const session = processor.sessions.get(id);
  if (session.status !== 'open') {
    sendHtml(res, 200, endedPage(session), session.success_url);
    return;
  }
  const page = `/c/pay/${id}`;
  if (req.method !== 'POST') {
    sendHtml(res, 200, isBank ? showBank(session) : showCheckout(processor, id), session.success_url);
    return;
  }
  const form = new URLSearchParams(await text(req));
  const action = form.get('action');
  if (action === 'address') {
    enterAddress(processor, id, { address: readAddress(form), name: form.get('name')?.trim().slice(0, 200) || null });
    redirect(res, page);
    return;
  }
  const success = (session.success_url ?? processor.origin).replaceAll('{CHECKOUT_SESSION_ID}', id);
  const outcome = act(processor, id, form);
  if (outcome === undefined) redirect(res, page);
  else if (outcome === 'processing') redirect(res, success);
  else if (outcome.kind === 'asks') redirect(res, `${page}/bank`);
  else if (outcome.kind === 'declined')
    sendHtml(res, 402, showCheckout(processor, id, outcome.fault.message), session.success_url);
  else redirect(res, success);
}

const showBank = ({ amount_total: total, currency }: Stripe.Checkout.Session): string =>
  bankPage(toMoney(total ?? 0, currency ?? 'eur'));

function act(processor: Processor, id: string, form: URLSearchParams): Outcome | 'processing' | undefined {
  const action = form.get('action');
  if (action === 'approve' || action === 'refuse') return answerBank(processor, id, action === 'approve');
  const card = findCard(form.get('card') ?? '');
  return action === 'pay' && card !== undefined ? paySession(processor, id, card) : undefined;
}

function showCheckout(processor: Processor, id: string, problem?: string): string {
  const session = priceSession(processor, id);
  const customer = customerOf(processor, session);
  const { customerUpdate } = processor.sessionSecrets.get(id);
  const asksAddress = customerUpdate.address === 'auto' || session.billing_address_collection === 'required';
  const details = session.customer_details ?? { address: customer.address ?? null, name: customer.name ?? null };
  return checkoutPage({
    session: { ...session, customer_details: details as Stripe.Checkout.Session.CustomerDetails },
    asksAddress,
    asksName: customerUpdate.name === 'auto',
    problem,
  });
}
