import type { Stripe } from 'stripe';
import { z } from 'zod';
import { addSession, expireDueSessions, expireSession } from '../payments/checkout.ts';
import { idOf } from '../state/values.ts';
import { invalid } from './apiFault.ts';
import { isWithin, toPage } from './lists.ts';
import * as p from './params.ts';
import { type Route, route } from './route.ts';

type Params = Stripe.Checkout.SessionCreateParams;
const enabled = z.strictObject({ enabled: p.boolean });
const issuer = z.strictObject({ type: p.oneOf('self') });
const webAddress = z.string().regex(/^https?:\/\/\S+$/, { error: ({ input }) => `Not a valid URL: ${String(input)}` });

const createParams = p.paramsOf<Params>()({
  adaptive_pricing: z.strictObject({ enabled: p.boolean.optional() }).optional(),
  allowed_payment_method_types: p.listOf(p.oneOf('card')),
  automatic_tax: p
    .paramsOf<Stripe.Checkout.SessionCreateParams.AutomaticTax>()({ enabled: p.boolean, liability: issuer.optional() })
    .optional(),
  billing_address_collection: p.oneOf('auto', 'required').optional(),
  cancel_url: webAddress.optional(),
  client_reference_id: z.string().max(200).optional(),
  customer: p.text,
  customer_update: p
    .paramsOf<Stripe.Checkout.SessionCreateParams.CustomerUpdate>()({
      address: p.oneOf('auto', 'never').default('never'),
      name: p.oneOf('auto', 'never').default('never'),
    })
    .optional(),
  custom_text: p
    .paramsOf<Stripe.Checkout.SessionCreateParams.CustomText>()({
      submit: p.orUnset(z.strictObject({ message: z.string().max(1_200) })).optional(),
    })
    .optional(),
  expires_at: p.integer.optional(),
  invoice_creation: p
    .paramsOf<Stripe.Checkout.SessionCreateParams.InvoiceCreation>()({
      enabled: p.boolean,
      invoice_data: p
        .paramsOf<Stripe.Checkout.SessionCreateParams.InvoiceCreation.InvoiceData>()({
          custom_fields: p
            .orUnset(p.listOf(z.strictObject({ name: z.string().max(40), value: z.string().max(140) })))
            .optional(),
          description: p.text.optional(),
          footer: p.text.optional(),
          issuer: issuer.optional(),
          metadata: p.metadata.optional(),
        })
        .optional(),
    })
    .optional(),
  line_items: p.listOf(
    p.paramsOf<Stripe.Checkout.SessionCreateParams.LineItem>()({
      metadata: p.metadata.optional(),
      price_data: p.paramsOf<Stripe.Checkout.SessionCreateParams.LineItem.PriceData>()({
        currency: p.currency,
        product_data: p.paramsOf<Stripe.Checkout.SessionCreateParams.LineItem.PriceData.ProductData>()({
          description: p.text.optional(),
          metadata: p.metadata.optional(),
          name: p.text,
          tax_code: p.text.optional(),
        }),
        tax_behavior: p.oneOf('exclusive').optional(),
        unit_amount: p.integer,
      }),
      quantity: p.integer.pipe(z.number().min(1)).default(1),
    }),
  ),
  locale: p.text.optional(),
  metadata: p.metadata.optional(),
  mode: p.oneOf('payment'),
  payment_intent_data: p
    .paramsOf<Stripe.Checkout.SessionCreateParams.PaymentIntentData>()({
      description: p.text.optional(),
      metadata: p.metadata.optional(),
      setup_future_usage: p.oneOf('off_session', 'on_session').optional(),
    })
    .optional(),
  payment_method_options: p
    .paramsOf<Stripe.Checkout.SessionCreateParams.PaymentMethodOptions>()({
      card: z.strictObject({ request_three_d_secure: p.oneOf('any', 'automatic', 'challenge').optional() }).optional(),
    })
    .optional(),
  saved_payment_method_options: p
    .paramsOf<Stripe.Checkout.SessionCreateParams.SavedPaymentMethodOptions>()({
      payment_method_save: p.oneOf('enabled', 'disabled').optional(),
    })
    .optional(),
  submit_type: p.oneOf('auto', 'pay').optional(),
  success_url: webAddress,
  tax_id_collection: enabled.optional(),
  ui_mode: p.oneOf('hosted_page').optional(),
});

const listParams = p.paramsOf<Stripe.Checkout.SessionListParams>()({
  ...p.pagination,
  created: p.createdRange,
  customer: p.text.optional(),
  payment_intent: p.text.optional(),
  status: p.oneOf('complete', 'expired', 'open').optional(),
});
const noParams = z.strictObject({});

export const CHECKOUT_ROUTES: Route[] = [
  route('POST /v1/checkout/sessions', createParams, (processor, params) => {
    const currencies = new Set(params.line_items.map(({ price_data: { currency } }) => currency));
    const [currency = 'eur'] = currencies;
    if (currencies.size > 1)
      throw invalid('All line items of a session have to have one currency.', { param: 'line_items' });
    if (params.tax_id_collection?.enabled)
      throw invalid('The page of the simulator asks for no tax id.', { param: 'tax_id_collection' });
    const { address } = processor.customers.get(params.customer, { param: 'customer', status: 400 });
    const automaticTax = params.automatic_tax?.enabled ?? false;
    if (automaticTax && processor.settings.tax.status !== 'active')
      throw invalid(
        'You must have a valid head office address to enable automatic tax calculation in test mode. Visit your tax settings to update it.',
        { param: 'automatic_tax' },
      );
    if (automaticTax && !address?.country && params.customer_update?.address !== 'auto')
      throw invalid(
        "Automatic tax calculation in Checkout requires a valid address on the Customer. Add a valid address to the Customer or set either `customer_update[address]` to 'auto' or `customer_update[shipping]` to 'auto' to save the address entered in Checkout to the Customer.",
        { code: 'customer_tax_location_invalid' },
      );
    const { invoice_creation: invoice, payment_intent_data: intent } = params;
    return addSession(processor, {
      customer: params.customer,
      clientReferenceId: params.client_reference_id ?? null,
      currency,
      lines: params.line_items.map(({ price_data: price, quantity, metadata }) => ({
        name: price.product_data.name,
        description: price.product_data.description ?? null,
        unitAmount: price.unit_amount,
        quantity,
        metadata: metadata ?? {},
      })),
      metadata: params.metadata ?? {},
      automaticTax,
      submitText: params.custom_text?.submit?.message ?? null,
      // The processor's default follows a switch of the account, which is on here.
      adaptivePricing: params.adaptive_pricing?.enabled ?? true,
      invoiceData: invoice?.enabled
        ? {
            account_tax_ids: null,
            custom_fields: invoice.invoice_data?.custom_fields ?? null,
            description: invoice.invoice_data?.description ?? null,
            footer: invoice.invoice_data?.footer ?? null,
            issuer: null,
            metadata: invoice.invoice_data?.metadata ?? {},
            rendering_options: null,
          }
        : null,
      billingAddressCollection: params.billing_address_collection ?? null,
      expiresAt: params.expires_at ?? null,
      successUrl: params.success_url,
      cancelUrl: params.cancel_url ?? null,
      secrets: {
        customerUpdate: params.customer_update ?? { address: 'never', name: 'never' },
        paymentIntentData: {
          description: intent?.description ?? null,
          metadata: intent?.metadata ?? {},
          setupFutureUsage: intent?.setup_future_usage ?? null,
        },
        taxCode: params.line_items[0]?.price_data.product_data.tax_code ?? null,
      },
    });
  }),
  route('GET /v1/checkout/sessions/{id}', noParams, (processor, _params, id) => {
    expireDueSessions(processor);
    return processor.sessions.get(id);
  }),
  route(
    'GET /v1/checkout/sessions',
    listParams,
    (processor, { customer, payment_intent: intent, status, created, ...page }) => {
      expireDueSessions(processor);
      return toPage(
        processor.sessions.list(),
        page,
        '/v1/checkout/sessions',
        (each) =>
          (customer === undefined || idOf(each.customer ?? '') === customer) &&
          (intent === undefined || idOf(each.payment_intent ?? '') === intent) &&
          (status === undefined || each.status === status) &&
          isWithin(each.created, created),
      );
    },
  ),
  route('GET /v1/checkout/sessions/{id}/line_items', z.strictObject(p.pagination), (processor, page, id) =>
    toPage(
      (processor.sessions.get(id).line_items?.data ?? []).toReversed(),
      page,
      `/v1/checkout/sessions/${id}/line_items`,
    ),
  ),
  route('POST /v1/checkout/sessions/{id}/expire', noParams, (processor, _params, id) => {
    expireDueSessions(processor);
    return expireSession(processor, id);
  }),
];
