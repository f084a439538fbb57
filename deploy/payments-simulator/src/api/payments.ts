import type { Stripe } from 'stripe';
import { z } from 'zod';
import { addPaymentMethod, attachPaymentMethod, detachPaymentMethod } from '../payments/paymentMethods.ts';
import { findCardByToken } from '../state/cards.ts';
import { idOf } from '../state/values.ts';
import { invalid } from './apiFault.ts';
import { isWithin, toPage } from './lists.ts';
import * as p from './params.ts';
import { type Route, route } from './route.ts';

const noParams = z.strictObject({});
const listParams = z.strictObject({ ...p.pagination, created: p.createdRange, customer: p.text.optional() });
const isOf = (reference: string | { id: string } | null, wanted: string | undefined): boolean =>
  wanted === undefined || (reference !== null && idOf(reference) === wanted);

/** Routes of what a payment leaves behind: intents, charges, cards, movements of the balance. */
export const PAYMENT_ROUTES: Route[] = [
  route('GET /v1/payment_intents/{id}', noParams, (processor, _params, id) => processor.paymentIntents.get(id)),
  route('GET /v1/payment_intents', listParams, (processor, { customer, created, ...page }) => {
    return toPage(
      processor.paymentIntents.list(),
      page,
      '/v1/payment_intents',
      (each) => isOf(each.customer, customer) && isWithin(each.created, created),
    );
  }),
  route('GET /v1/charges/{id}', noParams, (processor, _params, id) => processor.charges.get(id)),
  route(
    'GET /v1/charges',
    listParams.extend({ payment_intent: p.text.optional() }),
    (processor, { customer, created, payment_intent: intent, ...page }) => {
      return toPage(
        processor.charges.list(),
        page,
        '/v1/charges',
        (each) => isOf(each.customer, customer) && isOf(each.payment_intent, intent) && isWithin(each.created, created),
      );
    },
  ),
  route('GET /v1/payment_methods/{id}', noParams, (processor, _params, id) => processor.paymentMethods.get(id)),
  route(
    'GET /v1/payment_methods',
    z.strictObject({ ...p.pagination, customer: p.text.optional(), type: p.oneOf('card').optional() }),
    (processor, { customer, type: _type, ...page }) =>
      toPage(processor.paymentMethods.list(), page, '/v1/payment_methods', (each) => isOf(each.customer, customer)),
  ),
  route(
    'POST /v1/payment_methods/{id}/attach',
    p.paramsOf<Stripe.PaymentMethodAttachParams>()({ customer: p.text }),
    (processor, { customer }, id) => {
      processor.customers.get(customer, { param: 'customer', status: 400 });
      // The ready-made payment methods become one of the customer's own.
      const card = findCardByToken(id);
      const method = card === undefined ? processor.paymentMethods.get(id) : addPaymentMethod(processor, card);
      if (method.customer !== null && idOf(method.customer) !== customer)
        throw invalid('The payment method you provided has already been attached to a customer.', {
          code: 'payment_method_unexpected_state',
        });
      return attachPaymentMethod(processor, method.id, customer);
    },
  ),
  route('POST /v1/payment_methods/{id}/detach', noParams, (processor, _params, id) =>
    detachPaymentMethod(processor, id),
  ),
  route('GET /v1/balance_transactions/{id}', noParams, (processor, _params, id) =>
    processor.balanceTransactions.get(id),
  ),
  route(
    'GET /v1/balance_transactions',
    p.paramsOf<Stripe.BalanceTransactionListParams>()({
      ...p.pagination,
      created: p.createdRange,
      currency: p.currency.optional(),
      source: p.text.optional(),
      type: p.text.optional(),
    }),
    (processor, { created, currency, source, type, ...page }) => {
      return toPage(
        processor.balanceTransactions.list(),
        page,
        '/v1/balance_transactions',
        (each) =>
          isWithin(each.created, created) &&
          isOf(each.source, source) &&
          (currency === undefined || each.currency === currency) &&
          (type === undefined || each.type === type),
      );
    },
  ),
  route('GET /v1/radar/early_fraud_warnings/{id}', noParams, (processor, _params, id) =>
    processor.earlyFraudWarnings.get(id),
  ),
];
