import type { Stripe } from 'stripe';
import { z } from 'zod';
import type { Processor } from '../state/processor.ts';
import { toPage } from './lists.ts';
import * as p from './params.ts';
import { type Route, route } from './route.ts';

type Update = Stripe.BillingPortal.Configuration.Features.CustomerUpdate.AllowedUpdate;
type Configuration = Stripe.BillingPortal.Configuration;

const noParams = z.strictObject({});
const enabled = z.strictObject({ enabled: p.boolean });
const configurationParams = p.paramsOf<Stripe.BillingPortal.ConfigurationCreateParams>()({
  default_return_url: p.orUnset(p.text).optional(),
  features: p.paramsOf<Stripe.BillingPortal.ConfigurationCreateParams.Features>()({
    customer_update: p
      .paramsOf<Stripe.BillingPortal.ConfigurationCreateParams.Features.CustomerUpdate>()({
        allowed_updates: p.orUnset(p.listOf(p.oneOf('address', 'email', 'name', 'tax_id'))).optional(),
        enabled: p.boolean,
      })
      .optional(),
    invoice_history: enabled.optional(),
    payment_method_update: enabled.optional(),
  }),
  metadata: p.metadata.optional(),
  name: p.orUnset(p.text).optional(),
});
const sessionParams = p.paramsOf<Stripe.BillingPortal.SessionCreateParams>()({
  configuration: p.text.optional(),
  customer: p.text,
  return_url: p.text.optional(),
});

interface NewConfiguration {
  allowedUpdates: Update[];
  invoices: boolean;
  paymentMethods: boolean;
  returnUrl: string | null;
  isDefault: boolean;
  name: string | null;
  metadata: Stripe.Metadata;
}

/** Routes of the customer portal, whose page is `/p/session/{id}`. */
export const PORTAL_ROUTES: Route[] = [
  route('POST /v1/billing_portal/configurations', configurationParams, (processor, { features, ...params }) =>
    addConfiguration(processor, {
      allowedUpdates: features.customer_update?.enabled ? (features.customer_update.allowed_updates ?? []) : [],
      invoices: features.invoice_history?.enabled ?? false,
      paymentMethods: features.payment_method_update?.enabled ?? false,
      returnUrl: params.default_return_url ?? null,
      isDefault: false,
      name: params.name ?? null,
      metadata: params.metadata ?? {},
    }),
  ),
  route('GET /v1/billing_portal/configurations/{id}', noParams, (processor, _params, id) =>
    processor.portalConfigurations.get(id),
  ),
  route('GET /v1/billing_portal/configurations', z.strictObject(p.pagination), (processor, page) =>
    toPage(processor.portalConfigurations.list(), page, '/v1/billing_portal/configurations'),
  ),
  route('POST /v1/billing_portal/sessions', sessionParams, (processor, params) => {
    processor.customers.get(params.customer, { param: 'customer', status: 400 });
    const configuration =
      params.configuration === undefined
        ? findDefault(processor)
        : processor.portalConfigurations.get(params.configuration, { param: 'configuration', status: 400 });
    const id = processor.newId('bps');
    return processor.portalSessions.add({
      id,
      object: 'billing_portal.session',
      configuration: configuration.id,
      created: processor.now(),
      customer: params.customer,
      customer_account: null,
      flow: null,
      livemode: false,
      locale: null,
      on_behalf_of: null,
      return_url: params.return_url ?? configuration.default_return_url,
      url: `${processor.origin}/p/session/${id}`,
    });
  }),
];

/** The processor's own configuration lets a customer change the tax id too. */
const findDefault = (processor: Processor): Configuration =>
  processor.portalConfigurations.list().find(({ is_default: isDefault }) => isDefault) ??
  addConfiguration(processor, {
    allowedUpdates: ['address', 'email', 'name', 'tax_id'],
    invoices: true,
    paymentMethods: true,
    returnUrl: null,
    isDefault: true,
    name: null,
    metadata: {},
  });

const addConfiguration = (processor: Processor, options: NewConfiguration): Configuration =>
  processor.portalConfigurations.add({
    id: processor.newId('bpc'),
    object: 'billing_portal.configuration',
    active: true,
    application: null,
    business_profile: { headline: null, privacy_policy_url: null, terms_of_service_url: null },
    created: processor.now(),
    default_return_url: options.returnUrl,
    features: {
      customer_update: { allowed_updates: options.allowedUpdates, enabled: options.allowedUpdates.length > 0 },
      invoice_history: { enabled: options.invoices },
      payment_method_update: { enabled: options.paymentMethods, payment_method_configuration: null },
      subscription_cancel: {
        cancellation_reason: { enabled: false, feedback_options: null, options: [] },
        enabled: false,
        mode: 'at_period_end',
        proration_behavior: 'none',
      },
      subscription_pause: { duration: { interval_options: [], type: 'indefinite' }, enabled: false },
      subscription_update: {
        billing_cycle_anchor: null,
        default_allowed_updates: [],
        enabled: false,
        proration_behavior: 'none',
        schedule_at_period_end: { conditions: [] },
        trial_update_behavior: 'end_trial',
      },
    },
    is_default: options.isDefault,
    livemode: false,
    login_page: { enabled: false, url: null },
    metadata: options.metadata,
    name: options.name,
    updated: processor.now(),
  });
