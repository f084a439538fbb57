import * as z from 'zod/mini';
import { capNanoUsd, nanoUsd } from '../amounts.ts';
import {
  defineRoutes,
  displayName,
  done,
  idSchema,
  inOrganization,
  instant,
  UNKNOWN_WORKSPACE,
} from './accountRoute.ts';

const currency = z.enum(['usd', 'eur']);
const cents = z.int();
/** Dollars per euro with four decimals. */
const usdPerEur = z.nullable(z.string());
const topUpSchema = z.object({
  top_up_id: z.string(),
  workspace_id: z.string(),
  /** `automatic`: charged to a saved card because the balance was low. */
  kind: z.enum(['checkout', 'automatic']),
  /**
   * `open`: the Checkout page waits. `processing`: the money is on its way. `wants_cardholder`: the bank of the saved card wants to ask its
   * holder, who pays on the page of `resumeTopUp`. `paid`: credited; the invoice follows.
   */
  state: z.enum(['created', 'open', 'processing', 'wants_cardholder', 'paid', 'invoiced', 'declined', 'expired']),
  currency,
  /** The amount without tax, which becomes credit. */
  net_cents: cents,
  /** Null until it is paid, as the fields below. */
  tax_cents: z.nullable(cents),
  nano_usd: z.nullable(nanoUsd),
  /** The month of the rate, and the rate. Null for dollars too. */
  rate_month: z.nullable(z.string()),
  usd_per_eur: usdPerEur,
  invoice_number: z.nullable(z.string()),
  created_at: instant,
  charged_at: z.nullable(instant),
});
const cardSchema = z.object({
  card_id: z.string(),
  brand: z.string(),
  last4: z.string(),
  /** The last month of the card: `2034-12`. */
  expires: z.string(),
});
const positiveCents = z.int().check(z.positive());
const automaticTopUpSchema = z.object({
  /**
   * `paused`: a decline, a limit, or a missing euro rate holds it back until `paused_until`. `wants_cardholder`: the open top-up waits for
   * the cardholder. `on_hold`: the organization is on hold.
   */
  state: z.enum(['off', 'on', 'paused', 'wants_cardholder', 'on_hold']),
  /** Why it is off. Null where it is on, or was never set. */
  off_reason: z.nullable(z.enum(['member', 'declines', 'card_gone'])),
  pause_reason: z.nullable(z.enum(['decline', 'day_limit', 'month_limit', 'account_limit', 'euro_rate_missing'])),
  paused_until: z.nullable(instant),
  currency,
  /** The terms that were confirmed last. Null where none was, as the five fields below. */
  threshold_nano_usd: z.nullable(nanoUsd),
  net_cents: z.nullable(cents),
  day_limit_cents: z.nullable(cents),
  month_limit_cents: z.nullable(cents),
  card: z.nullable(cardSchema),
  confirmed: z.nullable(z.object({ by: z.string(), at: instant, text: z.string() })),
  /** Automatic top-ups of this UTC day and month, without tax. Declined ones do not count. */
  charged_day_cents: cents,
  charged_month_cents: cents,
  /** The most that automatic top-ups of all workspaces of the organization may be in a month, in each currency. The operator raises it. */
  account_month_limit_cents: cents,
  open_top_up: z.nullable(topUpSchema),
});
const nullableLine = (most: number) => z.nullable(displayName.check(z.maxLength(most)));
/** The buyer as invoices name it, and its VAT id of the European Union. */
export const billingDetailsSchema = z.strictObject({
  name: displayName,
  line1: displayName,
  line2: nullableLine(200),
  postal_code: nullableLine(20),
  city: displayName,
  state: nullableLine(200),
  /** The code of ISO 3166: Greece is `GR`. */
  country: z.string().check(z.regex(/^[A-Z]{2}$/, 'must be the code of a country')),
  /** With its letters in front: of Greece it begins with `EL`. */
  vat_id: z.nullable(
    z
      .string()
      .check(z.trim(), z.regex(/^[A-Za-z]{2}[\dA-Za-z+*.\s-]{2,20}$/, 'must be a VAT id with its country in front')),
  ),
});
const billingDetails = z.object({
  name: z.nullable(z.string()),
  line1: z.nullable(z.string()),
  line2: z.nullable(z.string()),
  postal_code: z.nullable(z.string()),
  city: z.nullable(z.string()),
  state: z.nullable(z.string()),
  country: z.nullable(z.string()),
  vat_id: z.nullable(z.string()),
  /** `pending`: payments wait for the verdict. `verified`: the business owes the VAT itself. Any other: VAT is charged. */
  vat_state: z.nullable(z.enum(['pending', 'verified', 'unverified', 'unavailable'])),
  /** The name under which a verified VAT id is registered, where its state gives one. */
  vat_name: z.nullable(z.string()),
  vat_checked_at: z.nullable(instant),
});
const documentSchema = z.object({
  document_id: z.string(),
  kind: z.enum(['invoice', 'credit_note']),
  number: z.string(),
  status: z.enum(['paid', 'void', 'uncollectible', 'issued']),
  /** The number of the invoice that a credit note is about. */
  invoice_number: z.nullable(z.string()),
  currency,
  total_cents: cents,
  tax_cents: cents,
  issued_at: instant,
});
/** The formats of a document: its file for people, and the processor's object. */
export const DOCUMENT_FORMATS = ['pdf', 'json'] as const;
export type DocumentFormat = (typeof DOCUMENT_FORMATS)[number];
/** The path of the bytes of a document. */
export const DOCUMENT_PATH = '/account/organizations/:organization_id/documents/:document_id/:format';
const UNKNOWN_TOP_UP = { top_up_not_found: { status: 404, message: 'There is no such payment of this workspace.' } };
const PAYMENTS_AWAY = {
  payments_away: {
    status: 502,
    message: 'The payment processor does not answer, so nothing was charged. Try again later.',
  },
};
const UNKNOWN_CARD = {
  unknown_card: {
    status: 409,
    message: 'The organization has no such card. Pay once: the payment saves its card.',
  },
};
const PAYMENT_REFUSALS = {
  ...UNKNOWN_WORKSPACE,
  ...PAYMENTS_AWAY,
  billing_not_provisioned: { status: 409, message: 'Nothing can be paid in here.' },
  amount_out_of_range: { status: 400, message: 'The amount must be from {minimum} to {maximum} {currency}.' },
  euro_rate_missing: {
    status: 503,
    message: 'There is no euro rate for this month yet, so nothing was charged. Try again later.',
  },
};
const DETAILS_ARE_CHANGING = {
  details_are_changing: {
    status: 409,
    message: 'The address or the VAT id is being changed, so nothing was charged or saved. Try again in some seconds.',
  },
};
/** An amount of cents in a query. */
const centsText = z.pipe(
  z.string().check(z.regex(/^[1-9]\d{0,8}$/, 'must be a whole number of cents')),
  z.transform(Number),
);

/** The routes of payments, invoices and automatic top-ups. */
export const billingRoutes = defineRoutes({
  getBilling: {
    access: { of: 'member', right: 'billing.read' },
    method: 'GET',
    path: '/account/organizations/:organization_id/workspaces/:workspace_id/billing',
    promise:
      'Says in which currency a workspace is paid for, and what one payment may be, without tax. Each currency has amounts of its own.',
    params: z.object({ ...inOrganization, workspace_id: idSchema }),
    answer: z.object({
      currency,
      preset_cents: z.array(cents),
      minimum_cents: cents,
      maximum_cents: cents,
      /** Whether a payment can be started now. */
      is_open: z.boolean(),
      usd_per_eur: usdPerEur,
      rate_month: z.nullable(z.string()),
    }),
    faults: UNKNOWN_WORKSPACE,
  },
  startTopUp: {
    access: { of: 'member', right: 'billing.write', recent: true },
    method: 'POST',
    path: '/account/organizations/:organization_id/workspaces/:workspace_id/top-ups',
    promise:
      'Makes a Checkout page for a payment into the wallet of a workspace. Tax comes on top, and the amount without it becomes credit once it is paid.',
    params: z.object({ ...inOrganization, workspace_id: idSchema }),
    body: z.strictObject({ net_cents: z.int().check(z.positive()) }),
    status: 201,
    answer: z.object({ top_up: topUpSchema, checkout_url: z.string() }),
    faults: {
      ...PAYMENT_REFUSALS,
      organization_on_hold: { status: 409, message: 'The organization is on hold, so nothing can be paid in.' },
      vat_id_pending: {
        status: 409,
        message: 'Your VAT id is being checked, so nothing was charged. Try again within a minute.',
      },
      ...DETAILS_ARE_CHANGING,
      too_many_top_ups: { status: 429, message: 'There are {most} open payments. Pay one, or wait until they expire.' },
    },
  },
  previewTopUp: {
    access: { of: 'member', right: 'billing.read' },
    method: 'GET',
    path: '/account/organizations/:organization_id/workspaces/:workspace_id/top-up-preview',
    promise:
      'Computes the tax, the total and the credit of a payment, and makes none. The tax is that of the address which the payment processor knows.',
    params: z.object({ ...inOrganization, workspace_id: idSchema, net_cents: centsText }),
    answer: z.object({
      currency,
      net_cents: cents,
      /** Null, as the total, while no address is known. The payment page then asks for it, and adds the tax. */
      tax_cents: z.nullable(cents),
      total_cents: z.nullable(cents),
      /** The customer owes the tax in place of the seller. */
      is_reverse_charge: z.boolean(),
      nano_usd: nanoUsd,
      rate_month: z.nullable(z.string()),
      usd_per_eur: usdPerEur,
    }),
    faults: PAYMENT_REFUSALS,
  },
  resumeTopUp: {
    access: { of: 'member', right: 'billing.write', recent: true },
    method: 'POST',
    path: '/account/organizations/:organization_id/workspaces/:workspace_id/top-ups/:top_up_id/checkout',
    promise:
      'Gives the page of the payment processor on which a payment that is open, or waits for its cardholder, can be paid.',
    params: z.object({ ...inOrganization, workspace_id: idSchema, top_up_id: idSchema }),
    answer: z.object({ checkout_url: z.string() }),
    faults: {
      ...UNKNOWN_WORKSPACE,
      ...UNKNOWN_TOP_UP,
      ...PAYMENTS_AWAY,
      billing_not_provisioned: { status: 409, message: 'Nothing can be paid in here.' },
      top_up_is_over: { status: 409, message: 'This payment is no longer open. Start another one.' },
    },
  },
  listTopUps: {
    access: { of: 'member', right: 'billing.read' },
    method: 'GET',
    path: '/account/organizations/:organization_id/workspaces/:workspace_id/top-ups',
    promise:
      'Lists the payments into the wallet of a workspace, the newest first, 100 at a time. `before` is the last id of the page before.',
    params: z.object({ ...inOrganization, workspace_id: idSchema, before: z.optional(idSchema) }),
    answer: z.object({ top_ups: z.array(topUpSchema), next: z.nullable(z.string()) }),
    faults: UNKNOWN_WORKSPACE,
  },
  getBillingDetails: {
    access: { of: 'member', right: 'billing.read' },
    method: 'GET',
    path: '/account/organizations/:organization_id/billing-details',
    promise:
      'Says what name, address and VAT id the invoices of an organization have, and the verdict about the VAT id.',
    params: z.object(inOrganization),
    answer: billingDetails,
  },
  changeBillingDetails: {
    access: { of: 'member', right: 'billing.write', recent: true },
    method: 'PUT',
    path: '/account/organizations/:organization_id/billing-details',
    promise:
      'Sets name, address and VAT id for the next invoices. Open payment pages end. A new VAT id is checked first, for a minute at most. Payments wait for that.',
    params: z.object(inOrganization),
    body: billingDetailsSchema,
    answer: billingDetails,
    faults: {
      ...PAYMENTS_AWAY,
      billing_not_provisioned: { status: 409, message: 'Nothing can be paid in here.' },
      ...DETAILS_ARE_CHANGING,
      address_not_recognized: {
        status: 400,
        message: 'This address is in no place that is known. Check country, postal code and state.',
      },
      vat_id_invalid: {
        status: 400,
        message: 'This is no VAT id of the European Union. Check its letters and digits.',
      },
      vat_id_of_another_country: {
        status: 400,
        message: 'The VAT id is of another country than the address. Both must be of one country.',
      },
    },
  },
  listDocuments: {
    access: { of: 'member', right: 'billing.read' },
    method: 'GET',
    path: '/account/organizations/:organization_id/documents',
    promise: `Lists the invoices and credit notes of an organization, the newest first, 100 at a time. \`${DOCUMENT_PATH}\` has the bytes of each, as \`pdf\` and as \`json\`.`,
    params: z.object({
      ...inOrganization,
      before: z.optional(z.string().check(z.regex(/^\d{1,18}$/, 'must be the `next` of a page'))),
    }),
    answer: z.object({ documents: z.array(documentSchema), next: z.nullable(z.string()) }),
  },
  listCards: {
    access: { of: 'member', right: 'billing.read' },
    method: 'GET',
    path: '/account/organizations/:organization_id/cards',
    promise:
      'Lists the cards that the payment processor keeps for the organization, each once, the last saved first. A payment saves its card.',
    params: z.object(inOrganization),
    answer: z.object({ cards: z.array(cardSchema) }),
    faults: PAYMENTS_AWAY,
  },
  removeCard: {
    access: { of: 'member', right: 'billing.write', recent: true },
    method: 'DELETE',
    path: '/account/organizations/:organization_id/cards/:card_id',
    promise:
      'Removes a saved card for good, and switches the automatic top-ups off that charge it. A payment under way goes on.',
    params: z.object({ ...inOrganization, card_id: idSchema }),
    answer: done,
    faults: { ...PAYMENTS_AWAY, ...UNKNOWN_CARD },
  },
  getAutomaticTopUp: {
    access: { of: 'member', right: 'billing.read' },
    method: 'GET',
    path: '/account/organizations/:organization_id/workspaces/:workspace_id/automatic-top-up',
    promise: 'Shows the automatic top-up of a workspace, what holds it back, and what it charged.',
    params: z.object({ ...inOrganization, workspace_id: idSchema }),
    answer: automaticTopUpSchema,
    faults: UNKNOWN_WORKSPACE,
  },
  setAutomaticTopUp: {
    access: { of: 'member', right: 'billing.write', recent: true },
    method: 'PUT',
    path: '/account/organizations/:organization_id/workspaces/:workspace_id/automatic-top-up',
    promise:
      'Switches the automatic top-up of a workspace on. From now on a saved card is charged when the balance falls below the threshold.',
    params: z.object({ ...inOrganization, workspace_id: idSchema }),
    body: z.strictObject({
      card_id: idSchema,
      threshold_nano_usd: capNanoUsd,
      net_cents: positiveCents,
      day_limit_cents: positiveCents,
      month_limit_cents: positiveCents,
      /** The text that the person confirmed, which `toMandateText` writes. It is kept with its time. */
      confirmed_text: z.string().check(z.maxLength(2_000)),
    }),
    answer: automaticTopUpSchema,
    faults: {
      ...UNKNOWN_WORKSPACE,
      ...PAYMENTS_AWAY,
      billing_not_provisioned: { status: 409, message: 'Nothing can be paid in here.' },
      amount_out_of_range: { status: 400, message: 'The amount must be from {minimum} to {maximum} {currency}.' },
      limit_too_low: {
        status: 400,
        message: 'A limit of a day or a month must be at least the amount of one payment.',
      },
      ...UNKNOWN_CARD,
      confirmation_differs: {
        status: 400,
        message: 'The confirmed text is not the one of these amounts and this card. Confirm it again.',
      },
      organization_on_hold: { status: 409, message: 'The organization is on hold, so nothing can be paid in.' },
    },
  },
  endAutomaticTopUp: {
    access: { of: 'member', right: 'billing.write', recent: true },
    method: 'DELETE',
    path: '/account/organizations/:organization_id/workspaces/:workspace_id/automatic-top-up',
    promise: 'Switches the automatic top-up of a workspace off. A payment under way goes on.',
    params: z.object({ ...inOrganization, workspace_id: idSchema }),
    answer: automaticTopUpSchema,
    faults: UNKNOWN_WORKSPACE,
  },
});
