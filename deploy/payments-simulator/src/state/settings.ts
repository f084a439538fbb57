import type { Stripe } from 'stripe';

/** The seller's account as the processor's settings have it. */
export interface Settings {
  account: { id: string; name: string; country: string; invoicePrefix: string };
  tax: Stripe.Tax.Settings;
}

const LONG_AGO = Date.UTC(2025, 0, 1) / 1_000;

export const defaultSettings = (): Settings => ({
  account: { id: 'acct_1TurnpikeSimulator', name: 'Turnpike', country: 'IE', invoicePrefix: 'TURN' },
  tax: {
    object: 'tax.settings',
    defaults: { provider: 'stripe', tax_behavior: 'exclusive', tax_code: 'txcd_10105001' },
    head_office: {
      address: {
        city: 'Dublin',
        country: 'IE',
        line1: '1 Example Quay',
        line2: null,
        postal_code: 'D02 XY00',
        state: null,
      },
    },
    livemode: false,
    status: 'active',
    status_details: { active: {} },
  },
});

/** The registrations of a new account: domestic VAT of the seller, and the one-stop shop for the other member states. */
export const defaultRegistrations = (): Stripe.Tax.Registration[] => [
  aRegistration('taxreg_standard', {
    standard: { place_of_supply_scheme: 'standard' },
    type: 'standard',
  }),
  aRegistration('taxreg_oss', { type: 'oss_union' }),
];

const aRegistration = (id: string, ie: Stripe.Tax.Registration.CountryOptions.Ie): Stripe.Tax.Registration => ({
  id,
  object: 'tax.registration',
  active_from: LONG_AGO,
  country: 'IE',
  country_options: { ie },
  created: LONG_AGO,
  expires_at: null,
  livemode: false,
  status: 'active',
});
