import type { Stripe } from 'stripe';
import { z } from 'zod';
import { invalid } from './apiFault.ts';
import { toPage } from './lists.ts';
import * as p from './params.ts';
import { type Route, route } from './route.ts';

const noParams = z.strictObject({});
const registrationParams = p.paramsOf<Stripe.Tax.RegistrationCreateParams>()({
  active_from: z.union([z.literal('now'), p.integer]),
  country: p.text,
  country_options: z.record(
    z.string().regex(/^[a-z]{2}$/),
    z.strictObject({
      type: p.text,
      state: p.text.optional(),
      standard: z.strictObject({ place_of_supply_scheme: p.text }).optional(),
    }),
  ),
});

export const TAX_ROUTES: Route[] = [
  route(
    'GET /v1/account',
    noParams,
    ({ settings: { account } }): Stripe.Account => ({
      id: account.id,
      object: 'account',
      charges_enabled: true,
      country: account.country,
      default_currency: 'eur',
      details_submitted: true,
      email: null,
      payouts_enabled: true,
      type: 'standard',
    }),
  ),
  route('GET /v1/tax/settings', noParams, (processor) => processor.settings.tax),
  route(
    'GET /v1/tax/registrations',
    z.strictObject({ ...p.pagination, status: p.oneOf('active', 'all', 'expired', 'scheduled').default('active') }),
    (processor, { status, ...page }) =>
      toPage(
        processor.registrations.list(),
        page,
        '/v1/tax/registrations',
        (each) => status === 'all' || each.status === status,
      ),
  ),
  route(
    'POST /v1/tax/registrations',
    registrationParams,
    (processor, { active_from: from, country, country_options: options }) => {
      if (options[country.toLowerCase()] === undefined)
        throw invalid('The country options have to be those of the country.', { param: 'country_options' });
      const now = processor.now();
      const activeFrom = from === 'now' ? now : from;
      return processor.registrations.add({
        id: processor.newId('taxreg'),
        object: 'tax.registration',
        active_from: activeFrom,
        country,
        country_options: options as Stripe.Tax.Registration.CountryOptions,
        created: now,
        expires_at: null,
        livemode: false,
        status: activeFrom <= now ? 'active' : 'scheduled',
      });
    },
  ),
  route(
    'POST /v1/tax/registrations/{id}',
    p.paramsOf<Stripe.Tax.RegistrationUpdateParams>()({ expires_at: z.union([z.literal('now'), p.integer]) }),
    (processor, { expires_at: at }, id) => {
      const now = processor.now();
      const expiresAt = at === 'now' ? now : at;
      return processor.registrations.update(id, {
        expires_at: expiresAt,
        ...(expiresAt <= now && { status: 'expired' as const }),
      });
    },
  ),
  route('GET /v1/tax_rates/{id}', noParams, (processor, _params, id) => processor.taxRates.get(id)),
];
