import type { Stripe } from 'stripe';
import { z } from 'zod';
import {
  addInvoice,
  buildInvoice,
  finalizeInvoice,
  payInvoice,
  priceItems,
  toPriced,
  voidInvoice,
} from '../payments/invoices.ts';
import type { Processor } from '../state/processor.ts';
import { asDecimal, idOf } from '../state/values.ts';
import { toBuyer } from '../tax/priceSale.ts';
import { invalid } from './apiFault.ts';
import { toAddress } from './customers.ts';
import { isWithin, toPage } from './lists.ts';
import * as p from './params.ts';
import { type Route, route } from './route.ts';

const noParams = z.strictObject({});
const automaticTax = z.strictObject({
  enabled: p.boolean,
  liability: z.strictObject({ type: p.oneOf('self') }).optional(),
});
const customFields = p.orUnset(p.listOf(z.strictObject({ name: z.string().max(40), value: z.string().max(140) })));
const createParams = p.paramsOf<Stripe.InvoiceCreateParams>()({
  auto_advance: p.boolean.optional(),
  automatic_tax: automaticTax.optional(),
  collection_method: p.oneOf('charge_automatically', 'send_invoice').optional(),
  currency: p.currency.optional(),
  custom_fields: customFields.optional(),
  customer: p.text,
  default_payment_method: p.text.optional(),
  description: p.text.optional(),
  footer: p.text.optional(),
  metadata: p.metadata.optional(),
  pending_invoice_items_behavior: p.oneOf('exclude').optional(),
});
const updateParams = p.paramsOf<Stripe.InvoiceUpdateParams>()({
  auto_advance: p.boolean.optional(),
  description: p.orUnset(p.text).optional(),
  metadata: p.metadata.optional(),
});
const itemParams = p.paramsOf<Stripe.InvoiceItemCreateParams>()({
  amount: p.integer,
  currency: p.currency,
  customer: p.text,
  description: p.text.optional(),
  invoice: p.text,
  metadata: p.metadata.optional(),
  tax_behavior: p.oneOf('exclusive').optional(),
  tax_code: p.text.optional(),
});
const previewParams = p.paramsOf<Stripe.InvoiceCreatePreviewParams>()({
  automatic_tax: automaticTax.optional(),
  currency: p.currency.optional(),
  customer: p.text,
  customer_details: p
    .paramsOf<Stripe.InvoiceCreatePreviewParams.CustomerDetails>()({
      address: p.orUnset(p.address).optional(),
      tax_exempt: p.orUnset(p.oneOf('none', 'exempt', 'reverse')).optional(),
      tax_ids: p.listOf(z.strictObject({ type: p.oneOf('eu_vat', 'gb_vat', 'ch_vat'), value: p.text })).optional(),
    })
    .optional(),
  invoice_items: p.listOf(
    p.paramsOf<Stripe.InvoiceCreatePreviewParams.InvoiceItem>()({
      amount: p.integer,
      currency: p.currency.optional(),
      description: p.text.optional(),
      metadata: p.metadata.optional(),
      tax_behavior: p.oneOf('exclusive').optional(),
      tax_code: p.text.optional(),
    }),
  ),
});

type NewInvoice = Omit<z.output<typeof createParams>, 'pending_invoice_items_behavior'>;

const toNewInvoice = (processor: Processor, params: NewInvoice) => ({
  customer: processor.customers.get(params.customer, { param: 'customer', status: 400 }),
  currency: params.currency ?? 'eur',
  metadata: params.metadata ?? {},
  description: params.description ?? null,
  footer: params.footer ?? null,
  customFields: params.custom_fields ?? null,
  automaticTax: params.automatic_tax?.enabled ?? false,
  autoAdvance: params.auto_advance ?? false,
  collectionMethod: params.collection_method ?? ('charge_automatically' as const),
  defaultPaymentMethod: params.default_payment_method ?? null,
});

function requireDraft(processor: Processor, id: string): Stripe.Invoice {
  const invoice = processor.invoices.get(id, { param: 'invoice' });
  if (invoice.status !== 'draft')
    throw invalid("Finalized invoices can't be updated in this way.", { code: 'invoice_not_editable' });
  return invoice;
}

export const INVOICE_ROUTES: Route[] = [
  route('POST /v1/invoices', createParams, (processor, params) =>
    addInvoice(processor, toNewInvoice(processor, params)),
  ),
  route('POST /v1/invoices/create_preview', previewParams, (processor, params) => {
    const draft = buildInvoice(processor, toNewInvoice(processor, params));
    const { address, tax_exempt: exempt, tax_ids: taxIds } = params.customer_details ?? {};
    const buyer = toBuyer(processor, processor.customers.get(params.customer));
    const priced = toPriced(
      processor,
      draft,
      params.invoice_items.map(({ amount, description, metadata }) => ({
        amount,
        description: description ?? null,
        quantity: 1,
        metadata: metadata ?? {},
        invoiceItem: null,
      })),
      {
        address: address === undefined ? buyer.address : toAddress(address, null),
        taxExempt: exempt ?? buyer.taxExempt,
        taxIds: taxIds ?? buyer.taxIds,
      },
    );
    if (priced.automatic_tax.status === 'requires_location_inputs')
      throw invalid("The customer's location isn't recognized.", { code: 'customer_tax_location_invalid' });
    return { ...priced, id: processor.newId('upcoming_in') };
  }),
  route('POST /v1/invoiceitems', itemParams, (processor, params) => {
    const invoice = requireDraft(processor, params.invoice);
    if (idOf(invoice.customer ?? '') !== params.customer)
      throw invalid('The customer of the item has to be the customer of the invoice.', { param: 'customer' });
    if (invoice.currency !== params.currency)
      throw invalid(`The item's currency has to be the invoice's, ${invoice.currency}.`, { param: 'currency' });
    const now = processor.now();
    const item = processor.invoiceItems.add({
      id: processor.newId('ii'),
      object: 'invoiceitem',
      amount: params.amount,
      currency: params.currency,
      customer: params.customer,
      customer_account: null,
      date: now,
      description: params.description ?? null,
      discountable: true,
      discounts: [],
      invoice: params.invoice,
      livemode: false,
      metadata: params.metadata ?? {},
      parent: null,
      period: { end: now, start: now },
      pricing: { type: 'price_details', unit_amount_decimal: asDecimal(params.amount) },
      proration: false,
      quantity: 1,
      quantity_decimal: asDecimal(1),
      tax_rates: [],
      test_clock: null,
    });
    priceItems(processor, params.invoice);
    processor.emit('invoiceitem.created', item);
    return item;
  }),
  route('GET /v1/invoiceitems/{id}', noParams, (processor, _params, id) => processor.invoiceItems.get(id)),
  route(
    'POST /v1/invoices/{id}/finalize',
    z.strictObject({ auto_advance: p.boolean.optional() }),
    (processor, _params, id) => {
      // Taxes follow what the customer is at this moment.
      if (processor.invoices.get(id).status === 'draft') priceItems(processor, id);
      return finalizeInvoice(processor, id);
    },
  ),
  route(
    'POST /v1/invoices/{id}/pay',
    p.paramsOf<Stripe.InvoicePayParams>()({ off_session: p.boolean.default(true), payment_method: p.text.optional() }),
    (processor, { off_session: isOffSession, payment_method: method }, id) =>
      payInvoice(processor, id, { isOffSession, paymentMethod: method ?? null }),
  ),
  route('POST /v1/invoices/{id}/void', noParams, (processor, _params, id) => voidInvoice(processor, id)),
  route('POST /v1/invoices/{id}', updateParams, (processor, { auto_advance: advance, description, metadata }, id) => {
    const invoice = processor.invoices.get(id);
    if (description !== undefined) requireDraft(processor, id);
    return processor.invoices.update(id, {
      ...(advance !== undefined && { auto_advance: advance }),
      ...(description !== undefined && { description }),
      metadata: p.mergeMetadata(invoice.metadata, metadata),
    });
  }),
  route('DELETE /v1/invoices/{id}', noParams, (processor, _params, id) => {
    const draft = requireDraft(processor, id);
    processor.invoices.remove(id);
    for (const item of processor.invoiceItems.list().filter(({ invoice }) => invoice === id))
      processor.invoiceItems.remove(item.id);
    processor.emit('invoice.deleted', draft);
    return { id, object: 'invoice', deleted: true };
  }),
  route('GET /v1/invoices/{id}/lines', z.strictObject(p.pagination), (processor, page, id) =>
    toPage(processor.invoices.get(id).lines.data.toReversed(), page, `/v1/invoices/${id}/lines`),
  ),
  route('GET /v1/invoices/{id}', noParams, (processor, _params, id) => processor.invoices.get(id)),
  route(
    'GET /v1/invoices',
    p.paramsOf<Stripe.InvoiceListParams>()({
      ...p.pagination,
      created: p.createdRange,
      customer: p.text.optional(),
      status: p.oneOf('draft', 'open', 'paid', 'uncollectible', 'void').optional(),
    }),
    (processor, { created, customer, status, ...page }) => {
      return toPage(
        processor.invoices.list(),
        page,
        '/v1/invoices',
        (each) =>
          (customer === undefined || idOf(each.customer ?? '') === customer) &&
          (status === undefined || each.status === status) &&
          isWithin(each.created, created),
      );
    },
  ),
  route(
    'GET /v1/invoice_payments',
    p.paramsOf<Stripe.InvoicePaymentListParams>()({
      ...p.pagination,
      invoice: p.text.optional(),
      payment: z.strictObject({ payment_intent: p.text, type: p.oneOf('payment_intent') }).optional(),
      status: p.oneOf('canceled', 'open', 'paid').optional(),
    }),
    (processor, { invoice, payment, status, ...page }) => {
      return toPage(
        processor.invoicePayments.list(),
        page,
        '/v1/invoice_payments',
        (each) =>
          (invoice === undefined || each.invoice === invoice) &&
          (payment === undefined || each.payment.payment_intent === payment.payment_intent) &&
          (status === undefined || each.status === status),
      );
    },
  ),
];
