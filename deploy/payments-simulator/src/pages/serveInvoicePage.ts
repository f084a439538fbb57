import type { IncomingMessage, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { html } from '@turnpike/http-service/html';
import type { Stripe } from 'stripe';
import type { Outcome } from '../payments/intents.ts';
import { answerInvoiceBank, payInvoiceInPerson } from '../payments/invoices.ts';
import { findCard } from '../state/cards.ts';
import type { Processor } from '../state/processor.ts';
import { bankPage, cardForm } from './checkoutPage.ts';
import { toAlert, toMoney, toPage } from './page.ts';
import { redirect, sendHtml } from './send.ts';

/** Serves the page of an invoice, on which its customer pays it while it is open, and the question of the bank. */
export async function serveInvoicePage(
  processor: Processor,
  req: IncomingMessage,
  res: ServerResponse,
  { id, isBank }: { id: string; isBank: boolean },
): Promise<void> {
  const page = `/invoices/${id}`;
  const invoice = processor.invoices.get(id);
  if (req.method !== 'POST') {
    sendHtml(res, 200, isBank ? bankPage(toMoney(invoice.total, invoice.currency)) : showInvoice(invoice));
    return;
  }
  const outcome = act(processor, id, new URLSearchParams(await text(req)));
  if (outcome?.kind === 'declined') sendHtml(res, 402, showInvoice(processor.invoices.get(id), outcome.fault.message));
  else redirect(res, outcome?.kind === 'asks' ? `${page}/bank` : page);
}

function act(processor: Processor, id: string, form: URLSearchParams): Outcome | undefined {
  const action = form.get('action');
  if (action === 'approve' || action === 'refuse') return answerInvoiceBank(processor, id, action === 'approve');
  const card = findCard(form.get('card') ?? '');
  return action === 'pay' && card !== undefined ? payInvoiceInPerson(processor, id, card) : undefined;
}

function showInvoice({ id, number, status, subtotal, total, currency }: Stripe.Invoice, problem?: string): string {
  const money = (cents: number): string => toMoney(cents, currency);
  return toPage(
    `Invoice ${number ?? ''}`,
    html`${toAlert(problem)}
<p>Status: ${status ?? ''}</p>
<p>Net ${money(subtotal)}, tax ${money(total - subtotal)}, total ${money(total)}</p>
<p><a href="/invoices/${id}/pdf">Invoice as PDF</a></p>
${status === 'open' ? cardForm(money(total)) : ''}`,
  );
}
