import type { IncomingMessage, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { type Html, html } from '@turnpike/http-service/html';
import type { Stripe } from 'stripe';
import { ApiFault, invalid } from '../api/apiFault.ts';
import { addPaymentMethod, attachPaymentMethod, detachPaymentMethod } from '../payments/paymentMethods.ts';
import { CARDS, findCard } from '../state/cards.ts';
import type { Processor } from '../state/processor.ts';
import { idOf } from '../state/values.ts';
import { listTaxIds } from '../tax/priceSale.ts';
import { addTaxId } from '../tax/taxIds.ts';
import { addressFields, readAddress } from './addressFields.ts';
import { toAlert, toMoney, toPage } from './page.ts';
import { redirect, sendHtml } from './send.ts';

const LIFE_SECONDS = 3_600;

/** Serves the customer portal: address, cards and invoices, as far as its configuration lets the customer. */
export async function servePortal(
  processor: Processor,
  req: IncomingMessage,
  res: ServerResponse,
  id: string,
): Promise<void> {
  const session = processor.portalSessions.get(id);
  if (session.created + LIFE_SECONDS < processor.now()) {
    sendHtml(res, 403, toPage('This page has expired', html`<p>Open it again from the page where you came from.</p>`));
    return;
  }
  if (req.method !== 'POST') {
    sendHtml(res, 200, portalPage(processor, session));
    return;
  }
  try {
    change(processor, session, new URLSearchParams(await text(req)));
    redirect(res, `/p/session/${id}`);
  } catch (error) {
    if (!(error instanceof ApiFault)) throw error;
    sendHtml(res, error.status, portalPage(processor, session, error.message));
  }
}

const featuresOf = (processor: Processor, { configuration }: Stripe.BillingPortal.Session) =>
  processor.portalConfigurations.get(idOf(configuration)).features;

function change(processor: Processor, session: Stripe.BillingPortal.Session, form: URLSearchParams): void {
  const { customer: id } = session;
  const { customer_update: update, payment_method_update: methods } = featuresOf(processor, session);
  const action = form.get('action');
  const method = form.get('method') ?? '';
  const isAllowed =
    action === 'address' || action === 'tax_id' ? update.allowed_updates.includes(action) : methods.enabled;
  if (!isAllowed) throw invalid('This page does not let you change that.', { status: 403 });
  if (action === 'address') save(processor, id, { address: readAddress(form) });
  else if (action === 'tax_id') addTaxId(processor, id, 'eu_vat', form.get('tax_id') ?? '');
  else if (action === 'default') setDefault(processor, id, method);
  else if (action === 'remove') detachPaymentMethod(processor, ownMethod(processor, id, method).id);
  else if (action === 'add') {
    const card = findCard(form.get('card') ?? '');
    if (card === undefined) throw invalid('Choose a card.');
    setDefault(processor, id, attachPaymentMethod(processor, addPaymentMethod(processor, card).id, id).id);
  }
}

function save(processor: Processor, id: string, values: Partial<Stripe.Customer>): void {
  processor.emit('customer.updated', processor.customers.update(id, values));
}

function setDefault(processor: Processor, id: string, method: string): void {
  const { invoice_settings: settings } = processor.customers.get(id);
  const { id: methodId } = ownMethod(processor, id, method);
  save(processor, id, { invoice_settings: { ...settings, default_payment_method: methodId } });
}

function ownMethod(processor: Processor, customer: string, id: string): Stripe.PaymentMethod {
  const method = processor.paymentMethods.get(id);
  if (method.customer === null || idOf(method.customer) !== customer)
    throw invalid('This is not your card.', { status: 403 });
  return method;
}

function portalPage(processor: Processor, session: Stripe.BillingPortal.Session, problem?: string): string {
  const customer = processor.customers.get(session.customer);
  const features = featuresOf(processor, session);
  const { allowed_updates: updates } = features.customer_update;
  return toPage(
    'Your billing details',
    html`${toAlert(problem)}
<p>${customer.name ?? customer.email ?? ''}</p>
${updates.includes('address') ? addressForm(customer.address ?? null) : ''}
${updates.includes('tax_id') ? taxIdForm(listTaxIds(processor, customer.id)) : ''}
${features.payment_method_update.enabled ? cardsSection(processor, customer) : ''}
${features.invoice_history.enabled ? invoicesSection(processor, customer) : ''}
${session.return_url === null ? '' : html`<p><a href="${session.return_url}">Go back</a></p>`}`,
  );
}

const addressForm = (address: Stripe.Address | null): Html => html`<form method="post">
${addressFields(address)}
<button name="action" value="address">Save the address</button>
</form>`;

const taxIdForm = (taxIds: Stripe.TaxId[]): Html => html`<h2>VAT ids</h2>
<ul>${taxIds.map(({ value, verification }) => html`<li>${value} (${verification?.status ?? ''})</li>`)}</ul>
<form method="post">
<label for="tax_id">VAT id</label><input id="tax_id" name="tax_id" type="text">
<button name="action" value="tax_id">Add the VAT id</button>
</form>`;

function cardsSection(processor: Processor, customer: Stripe.Customer): Html {
  const methods = processor.paymentMethods.list().filter((each) => each.customer === customer.id);
  const usual = customer.invoice_settings.default_payment_method;
  const rows = methods.map(({ id, card }) => {
    const name = `${card?.brand ?? 'Card'} ending in ${card?.last4 ?? ''}`;
    return html`<li>${name}${id === usual ? ' (default)' : ''}
<form method="post"><input type="hidden" name="method" value="${id}">
<button name="action" value="default" aria-label="Make default: ${name}">Make default</button>
<button name="action" value="remove" aria-label="Remove ${name}">Remove</button>
</form></li>`;
  });
  return html`<h2>Cards</h2>
<ul>${rows}</ul>
<form method="post">
<label for="card">Another card</label>
<select id="card" name="card">${CARDS.map(({ number, label }) => html`<option value="${number}">${number}: ${label}</option>`)}</select>
<button name="action" value="add">Add the card</button>
</form>`;
}

function invoicesSection(processor: Processor, { id }: Stripe.Customer): Html {
  const invoices = processor.invoices.list().filter((each) => each.customer === id && each.number !== null);
  const rows = invoices
    .toReversed()
    .map(
      (invoice) =>
        html`<li><a href="/invoices/${invoice.id}/pdf">${invoice.number ?? ''}</a>, ${toMoney(invoice.total, invoice.currency)}, ${invoice.status ?? ''}</li>`,
    );
  return html`<h2>Invoices</h2>
<ul>${rows}</ul>`;
}
