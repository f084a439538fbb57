import type { IncomingMessage, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { html } from '@turnpike/http-service/html';
import type { Stripe } from 'stripe';
import { ApiFault } from '../api/apiFault.ts';
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
import { bankPage, checkoutPage, endedPage } from './checkoutPage.ts';
import { invoicePdf } from './invoicePdf.ts';
import { toPage } from './page.ts';

/** Serves the pages and documents that browsers open. Returns false if the path is none of them. */
export async function servePage(processor: Processor, req: IncomingMessage, res: ServerResponse): Promise<boolean> {
  const { pathname } = new URL(req.url ?? '/', processor.origin);
  const [, kind, id = '', part] = /^\/(c\/pay|invoices)\/(\w+)(?:\/(\w+))?$/.exec(pathname) ?? [];
  if (kind === undefined) return false;
  try {
    if (kind === 'c/pay') await serveCheckout(processor, req, res, { id, isBank: part === 'bank' });
    else serveInvoice(processor, res, { id, isPdf: part === 'pdf' });
  } catch (error) {
    if (!(error instanceof ApiFault)) throw error;
    sendHtml(res, error.status, toPage('Something is wrong', html`<p role="alert">${error.message}</p>`));
  }
  return true;
}

async function serveCheckout(
  processor: Processor,
  req: IncomingMessage,
  res: ServerResponse,
  { id, isBank }: { id: string; isBank: boolean },
): Promise<void> {
  expireDueSessions(processor);
  const session = processor.sessions.get(id);
  if (session.status !== 'open') {
    sendHtml(res, 200, endedPage(session), session);
    return;
  }
  const page = `/c/pay/${id}`;
  if (req.method !== 'POST') {
    sendHtml(res, 200, isBank ? bankPage(session) : showCheckout(processor, id), session);
    return;
  }
  const form = new URLSearchParams(await text(req));
  const action = form.get('action');
  if (action === 'address') {
    enterAddress(processor, id, toTypedAddress(form));
    redirect(res, page);
    return;
  }
  const outcome = act(processor, id, form);
  if (outcome === undefined) redirect(res, page);
  else if (outcome.kind === 'asks') redirect(res, `${page}/bank`);
  else if (outcome.kind === 'declined') sendHtml(res, 402, showCheckout(processor, id, outcome.fault.message), session);
  else redirect(res, (session.success_url ?? processor.origin).replaceAll('{CHECKOUT_SESSION_ID}', id));
}

function act(processor: Processor, id: string, form: URLSearchParams): Outcome | undefined {
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
  const details = session.customer_details ?? { address: customer.address ?? null };
  return checkoutPage({
    session: { ...session, customer_details: details as Stripe.Checkout.Session.CustomerDetails },
    asksAddress,
    problem,
  });
}

function toTypedAddress(form: URLSearchParams): Stripe.Address {
  const typed = (name: string) => form.get(name)?.trim().slice(0, 200) || null;
  return {
    city: typed('city'),
    country: typed('country'),
    line1: typed('line1'),
    line2: null,
    postal_code: typed('postal_code'),
    state: typed('state'),
  };
}

function serveInvoice(processor: Processor, res: ServerResponse, { id, isPdf }: { id: string; isPdf: boolean }): void {
  const invoice = processor.invoices.get(id);
  if (isPdf) {
    const { number } = invoice;
    res
      .writeHead(200, {
        'content-type': 'application/pdf',
        'content-disposition': `attachment; filename="Invoice-${number ?? id}.pdf"`,
      })
      .end(invoicePdf(invoice));
    return;
  }
  sendHtml(
    res,
    200,
    toPage(
      `Invoice ${invoice.number ?? ''}`,
      html`<p>Status: ${invoice.status ?? ''}</p><p><a href="/invoices/${id}/pdf">PDF</a></p>`,
    ),
  );
}

function sendHtml(res: ServerResponse, status: number, page: string, session?: Stripe.Checkout.Session): void {
  // A browser applies `form-action` to redirects too, and a payment ends at the seller's own page.
  const success = session?.success_url ? new URL(session.success_url.replaceAll(/[{}]/g, '')).origin : '';
  res
    .writeHead(status, {
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': `default-src 'none'; style-src 'unsafe-inline'; form-action 'self' ${success}; frame-ancestors 'none'; base-uri 'none'`,
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
    })
    .end(page);
}

function redirect(res: ServerResponse, location: string): void {
  res.writeHead(303, { location }).end();
}
