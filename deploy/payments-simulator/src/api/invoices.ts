import type { Stripe } from 'stripe';
import { z } from 'zod';
import { idOf } from '../state/idOf.ts';
import { isWithin, toPage } from './lists.ts';
import * as p from './params.ts';
import { type Route, route } from './route.ts';

const noParams = z.strictObject({});

export const INVOICE_ROUTES: Route[] = [
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
