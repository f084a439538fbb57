import { REGIONS } from '@turnpike/config/region';
import type { ApiRoute } from '@turnpike/internal-api/internalApi';
import * as z from 'zod/mini';
import { capNanoUsd, limitNanoUsd, nanoUsd } from './amounts.ts';
import { type Right, ROLES } from './roles.ts';

/**
 * Access to a route: `anyone`; a signed-in user (`session`); a member of the organization in the path whose role has a right. `recent`
 * asks that the user proved who they are within the last 10 minutes.
 */
export type Access =
  | { of: 'anyone' }
  | { of: 'session'; recent?: true }
  | { of: 'member'; right: Right; recent?: true };

/** A route of the account layer. */
export interface AccountRoute extends ApiRoute {
  access: Access;
  path: `/account/${string}`;
  /** The status of an answer that is not 200. */
  status?: 201 | 202;
}

/** An e-mail address in lower case, without display name, comments or quoted parts. */
const address = z.pipe(
  z.string().check(z.trim(), z.maxLength(254), z.toLowerCase()),
  z
    .string()
    .check(
      z.regex(
        /^[a-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)+$/,
        'must be an e-mail address',
      ),
    ),
);
/** A name for people: one line of whole characters. Postgres takes no half of a surrogate pair in JSON. */
const displayName = z
  .string()
  .check(z.trim(), z.minLength(1), z.maxLength(200), z.regex(/^[^\p{Cc}\p{Cs}]*$/u, 'must be one line'));
const token = z.string().check(z.regex(/^[A-Za-z0-9_-]{43}$/, 'must be the token of the link'));
const instant = z.string();
const role = z.enum(ROLES);
const region = z.enum(REGIONS);
/** The id of anything. */
export const idSchema = z.string().check(z.regex(/^\w[\w-]{0,127}$/, 'must be an id'));
const inOrganization = { organization_id: idSchema };
const done = z.object({ done: z.literal(true) });

export const userSchema = z.object({ user_id: z.string(), name: z.string(), addresses: z.array(z.string()) });
export type UserBody = z.output<typeof userSchema>;

const sessionSchema = z.object({
  session_id: z.string(),
  is_current: z.boolean(),
  created_at: instant,
  /** To the minute. */
  seen_at: instant,
  ends_at: instant,
  address: z.string(),
  browser: z.string(),
});

/** Characters of a credential id: 1,023 bytes as base64url. */
const MAX_CREDENTIAL_ID = 1_400;
const base64Url = z.string().check(z.regex(/^[A-Za-z0-9_-]+$/, 'must be base64url'));
const credentialId = base64Url.check(z.maxLength(MAX_CREDENTIAL_ID));
const ofCredential = { id: credentialId, rawId: credentialId, type: z.literal('public-key') };
/** The answer of `navigator.credentials.create`, by its `toJSON`. Fields that no verification needs are passed over. */
export const newCredentialSchema = z.object({
  ...ofCredential,
  response: z.object({
    clientDataJSON: base64Url,
    attestationObject: base64Url,
    transports: z._default(
      z.array(z.string().check(z.regex(/^[a-z-]{1,32}$/, 'must be a transport'))).check(z.maxLength(10)),
      [],
    ),
  }),
});
/** The answer of `navigator.credentials.get`, by its `toJSON`. */
export const credentialSchema = z.object({
  ...ofCredential,
  response: z.object({
    clientDataJSON: base64Url,
    authenticatorData: base64Url,
    signature: base64Url,
    userHandle: z.nullish(base64Url),
  }),
});
/** `PublicKeyCredentialCreationOptionsJSON` or `PublicKeyCredentialRequestOptionsJSON` of the Web Authentication API. */
const passkeyOptions = z.object({ options: z.looseObject({ challenge: z.string() }) });
const passkeySchema = z.object({
  passkey_id: z.string(),
  name: z.string(),
  created_at: instant,
  used_at: z.nullable(instant),
});

const organizationSchema = z.object({ organization_id: z.string(), name: z.string(), role, created_at: instant });
const memberSchema = z.object({
  user_id: z.string(),
  name: z.string(),
  address: z.nullable(z.string()),
  role,
  joined_at: instant,
});
const invitationSchema = z.object({
  invitation_id: z.string(),
  address: z.string(),
  role,
  invited_by: z.string(),
  created_at: instant,
  ends_at: instant,
  status: z.enum(['open', 'accepted', 'withdrawn', 'expired']),
});
const workspaceSchema = z.object({
  workspace_id: z.string(),
  region,
  name: z.string(),
  /** `on_hold`: every call is refused. `not_provisioned`: so is every call that costs, until the first payment. */
  status: z.enum(['active', 'on_hold', 'not_provisioned']),
  /** The most that the workspace may spend in a calendar month (UTC). Null: no cap. */
  monthly_cap_nano_usd: z.nullable(nanoUsd),
  created_at: instant,
});
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
const alertRuleSchema = z.object({
  /** An amount for a calendar month (UTC) that stops nothing, in contrast to the monthly cap of the workspace. */
  budget_nano_usd: z.nullable(nanoUsd),
  balance_below_nano_usd: z.nullable(nanoUsd),
  /** Whether the members who may pay get a mail. */
  is_mailed: z.boolean(),
  webhook: z.nullable(z.object({ url: z.string(), set_at: instant })),
});
const alertSchema = z.object({
  alert_id: z.string(),
  kind: z.enum(['budget', 'cap', 'balance']),
  /** The reached part of the budget or the cap: 50, 80 or 100. Null for a balance. */
  percent: z.nullable(z.int()),
  limit_nano_usd: nanoUsd,
  /** The spend of the month, or the balance, as the region had reported it. */
  value_nano_usd: nanoUsd,
  raised_at: instant,
  /** Its webhook. `given_up`: no attempt is left, or the address was changed. Null where there was no address. */
  delivery: z.nullable(
    z.object({
      delivery_id: z.string(),
      url: z.string(),
      state: z.enum(['waiting', 'delivered', 'given_up']),
      attempts: z.int(),
      /** The status of the last answer, or why there was none. */
      last_status: z.nullable(z.int()),
      last_error: z.nullable(z.string()),
      ended_at: z.nullable(instant),
    }),
  ),
});
const UNKNOWN_WORKSPACE = {
  unknown_workspace: { status: 404, message: 'There is no such workspace in this organization.' },
};
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
/** An amount of cents in a query. */
const centsText = z.pipe(
  z.string().check(z.regex(/^[1-9]\d{0,8}$/, 'must be a whole number of cents')),
  z.transform(Number),
);
const auditSchema = z.object({
  audit_id: z.string(),
  at: instant,
  actor: z.string(),
  action: z.string(),
  target: z.string(),
  before: z.unknown(),
  after: z.unknown(),
  address: z.nullable(z.string()),
  request_id: z.nullable(z.string()),
});

const TOO_MANY = {
  too_many_attempts: { status: 429, message: 'Too many attempts. Wait {seconds} s, then try again.' },
};
const LINK_IS_OVER = {
  link_is_over: { status: 400, message: 'This link was used already, or is too old. Ask for a new one.' },
};
const PASSKEY_REFUSED = {
  passkey_refused: {
    status: 400,
    message: 'The passkey was not accepted: it is unknown here, or the 5 minutes for it are over. Try again.',
  },
};
const UNKNOWN_PASSKEY = { unknown_passkey: { status: 404, message: 'You have no such passkey.' } };
const UNKNOWN_PROVIDER = { unknown_provider: { status: 404, message: 'There is no such identity provider here.' } };
const PROVIDER_AWAY = {
  provider_away: { status: 502, message: 'The identity provider does not answer. Try again, or sign in by mail.' },
};
const LAST_OWNER = {
  last_owner: {
    status: 409,
    message: 'An organization has an owner at all times. Make another member an owner first.',
  },
};
const ABOVE_OWN_ROLE = {
  above_own_role: { status: 403, message: 'Your role does not reach that far: owners are changed by owners alone.' },
};
const UNKNOWN_MEMBER = { unknown_member: { status: 404, message: 'There is no such member.' } };
const UNKNOWN_INVITATION = {
  unknown_invitation: { status: 404, message: 'There is no such invitation that is open.' },
};

/** The wording of what guards and the listener refuse on any route. */
export const REFUSALS = {
  no_session: { status: 401, message: 'You are not signed in, or your session has ended. Sign in.' },
  foreign_origin: { status: 403, message: 'This request came from another site. Use the pages of the account layer.' },
  not_json: { status: 415, message: 'Send JSON, with the content type application/json.' },
  step_up_required: {
    status: 403,
    message: 'Confirm that it is you: sign in once more, by a passkey, a mailed link or your identity provider.',
  },
  organization_not_found: { status: 404, message: 'There is no such organization, or you are not a member of it.' },
  right_missing: { status: 403, message: 'Your role, {role}, does not have the right to this. Ask an owner.' },
  database_away: { status: 503, message: 'The account layer cannot answer right now. Try again in some seconds.' },
};

const defineRoutes = <const Routes extends Record<string, AccountRoute>>(routes: Routes): { routes: Routes } => ({
  routes,
});

/** The routes of the control plane for browsers. */
export const accountApi = defineRoutes({
  health: {
    access: { of: 'anyone' },
    method: 'GET',
    path: '/account/health',
    promise: 'Says that the account layer answers.',
    answer: z.object({ status: z.literal('ok') }),
  },
  listProviders: {
    access: { of: 'anyone' },
    method: 'GET',
    path: '/account/sign-in/providers',
    promise: 'Lists the identity providers by which one may sign in.',
    answer: z.object({ providers: z.array(z.object({ provider_id: z.string(), name: z.string() })) }),
  },
  mailLink: {
    access: { of: 'anyone' },
    method: 'POST',
    path: '/account/sign-in/link',
    promise:
      'Mails a link that signs in, valid for 15 minutes and once. The answer is the same whether or not the address is known.',
    body: z.object({ address }),
    status: 202,
    answer: done,
    faults: TOO_MANY,
  },
  signInByLink: {
    access: { of: 'anyone' },
    method: 'POST',
    path: '/account/sign-in/link/complete',
    promise: 'Signs in by the token of a mailed link, and makes the user where the address is new.',
    body: z.object({ token }),
    answer: userSchema,
    faults: { ...LINK_IS_OVER, ...TOO_MANY },
  },
  beginOidc: {
    access: { of: 'anyone' },
    method: 'POST',
    path: '/account/sign-in/oidc',
    promise:
      'Gives the page of an identity provider to go to. It has to be opened in the same browser within 10 minutes.',
    body: z.object({ provider_id: idSchema }),
    answer: z.object({ url: z.string() }),
    faults: { ...UNKNOWN_PROVIDER, ...PROVIDER_AWAY, ...TOO_MANY },
  },
  linkOidc: {
    access: { of: 'session', recent: true },
    method: 'POST',
    path: '/account/identities',
    promise: 'As sign-in, and the identity becomes one more way to sign in as this user.',
    body: z.object({ provider_id: idSchema }),
    answer: z.object({ url: z.string() }),
    faults: { ...UNKNOWN_PROVIDER, ...PROVIDER_AWAY },
  },
  stepUpByOidc: {
    access: { of: 'session' },
    method: 'POST',
    path: '/account/step-up/oidc',
    promise:
      'As sign-in, where the provider asks anew who it is. The session counts as proved for 10 minutes afterwards.',
    body: z.object({ provider_id: idSchema }),
    answer: z.object({ url: z.string() }),
    faults: { ...UNKNOWN_PROVIDER, ...PROVIDER_AWAY },
  },
  mailStepUpLink: {
    access: { of: 'session' },
    method: 'POST',
    path: '/account/step-up/link',
    promise: 'Mails a link to an address of the user that proves the session anew.',
    body: z.object({ address }),
    status: 202,
    answer: done,
    faults: { ...TOO_MANY, unknown_address: { status: 404, message: 'This is no address of yours.' } },
  },
  stepUpByLink: {
    access: { of: 'session' },
    method: 'POST',
    path: '/account/step-up/link/complete',
    promise: 'Proves the session by the token of a mailed link. The session gets a new id.',
    body: z.object({ token }),
    answer: userSchema,
    faults: LINK_IS_OVER,
  },
  beginPasskeySignIn: {
    access: { of: 'anyone' },
    method: 'POST',
    path: '/account/sign-in/passkey',
    promise: 'Gives the options for `navigator.credentials.get`, valid for 5 minutes and one sign-in.',
    answer: passkeyOptions,
    faults: TOO_MANY,
  },
  signInByPasskey: {
    access: { of: 'anyone' },
    method: 'POST',
    path: '/account/sign-in/passkey/complete',
    promise: 'Signs in by a passkey whose authenticator verified the user.',
    body: z.object({ credential: credentialSchema }),
    answer: userSchema,
    faults: { ...PASSKEY_REFUSED, ...TOO_MANY },
  },
  beginPasskeyStepUp: {
    access: { of: 'session' },
    method: 'POST',
    path: '/account/step-up/passkey',
    promise:
      'Gives the options for `navigator.credentials.get` with a passkey of the user, valid for 5 minutes and once.',
    answer: passkeyOptions,
  },
  stepUpByPasskey: {
    access: { of: 'session' },
    method: 'POST',
    path: '/account/step-up/passkey/complete',
    promise: 'Proves the session by a passkey of the user. The session gets a new id.',
    body: z.object({ credential: credentialSchema }),
    answer: userSchema,
    faults: PASSKEY_REFUSED,
  },
  listPasskeys: {
    access: { of: 'session' },
    method: 'GET',
    path: '/account/passkeys',
    promise: 'Lists the passkeys of the user, the oldest first.',
    answer: z.object({ passkeys: z.array(passkeySchema) }),
  },
  beginPasskey: {
    access: { of: 'session', recent: true },
    method: 'POST',
    path: '/account/passkeys/options',
    promise: 'Gives the options for `navigator.credentials.create`, valid for 5 minutes and one passkey.',
    answer: passkeyOptions,
  },
  addPasskey: {
    access: { of: 'session', recent: true },
    method: 'POST',
    path: '/account/passkeys',
    promise: 'Adds a passkey of an authenticator that verified the user. A user has 20 at most.',
    body: z.object({ name: displayName, credential: newCredentialSchema }),
    status: 201,
    answer: passkeySchema,
    faults: {
      ...PASSKEY_REFUSED,
      too_many_passkeys: { status: 409, message: 'One user may have 20 passkeys at most. Remove one first.' },
    },
  },
  renamePasskey: {
    access: { of: 'session' },
    method: 'PATCH',
    path: '/account/passkeys/:passkey_id',
    promise: 'Names a passkey of the user anew.',
    params: z.object({ passkey_id: idSchema }),
    body: z.object({ name: displayName }),
    answer: passkeySchema,
    faults: UNKNOWN_PASSKEY,
  },
  removePasskey: {
    access: { of: 'session', recent: true },
    method: 'DELETE',
    path: '/account/passkeys/:passkey_id',
    promise: 'Removes a passkey of the user, which signs in no more from then on. The last way to sign in stays.',
    params: z.object({ passkey_id: idSchema }),
    answer: done,
    faults: {
      ...UNKNOWN_PASSKEY,
      last_way_in: { status: 409, message: 'You could sign in no more without this passkey. Add another way first.' },
    },
  },
  getUser: {
    access: { of: 'session' },
    method: 'GET',
    path: '/account/user',
    promise: 'Says who is signed in.',
    answer: userSchema,
  },
  signOut: {
    access: { of: 'session' },
    method: 'POST',
    path: '/account/sign-out',
    promise: 'Ends the session.',
    answer: done,
  },
  listSessions: {
    access: { of: 'session' },
    method: 'GET',
    path: '/account/sessions',
    promise: "Lists the user's sessions that have not ended, the newest first.",
    answer: z.object({ sessions: z.array(sessionSchema) }),
  },
  endSession: {
    access: { of: 'session' },
    method: 'DELETE',
    path: '/account/sessions/:session_id',
    promise: 'Ends one of the sessions of the user at once.',
    params: z.object({ session_id: idSchema }),
    answer: done,
    faults: { unknown_session: { status: 404, message: 'There is no such session.' } },
  },
  createOrganization: {
    access: { of: 'session' },
    method: 'POST',
    path: '/account/organizations',
    promise: 'Makes an organization whose owner is the user. A user may belong to 20 at most.',
    body: z.object({ name: displayName }),
    status: 201,
    answer: organizationSchema,
    faults: { too_many_organizations: { status: 409, message: 'One user may belong to 20 organizations at most.' } },
  },
  listOrganizations: {
    access: { of: 'session' },
    method: 'GET',
    path: '/account/organizations',
    promise: 'Lists the organizations of the user, by name.',
    answer: z.object({ organizations: z.array(organizationSchema) }),
  },
  getOrganization: {
    access: { of: 'member', right: 'organization.read' },
    method: 'GET',
    path: '/account/organizations/:organization_id',
    promise: 'Shows an organization and the role of the user in it.',
    params: z.object(inOrganization),
    answer: organizationSchema,
  },
  renameOrganization: {
    access: { of: 'member', right: 'organization.write' },
    method: 'PATCH',
    path: '/account/organizations/:organization_id',
    promise: 'Names an organization anew.',
    params: z.object(inOrganization),
    body: z.object({ name: displayName }),
    answer: organizationSchema,
  },
  listMembers: {
    access: { of: 'member', right: 'organization.read' },
    method: 'GET',
    path: '/account/organizations/:organization_id/members',
    promise: 'Lists the members, by the day they joined.',
    params: z.object(inOrganization),
    answer: z.object({ members: z.array(memberSchema) }),
  },
  changeRole: {
    access: { of: 'member', right: 'members.write', recent: true },
    method: 'PATCH',
    path: '/account/organizations/:organization_id/members/:user_id',
    promise: 'Gives a member another role, no higher than that of the user.',
    params: z.object({ ...inOrganization, user_id: idSchema }),
    body: z.object({ role }),
    answer: memberSchema,
    faults: { ...UNKNOWN_MEMBER, ...LAST_OWNER, ...ABOVE_OWN_ROLE },
  },
  removeMember: {
    access: { of: 'member', right: 'members.write', recent: true },
    method: 'DELETE',
    path: '/account/organizations/:organization_id/members/:user_id',
    promise: 'Removes a member, who is refused from the next request on. Keys that they made stay.',
    params: z.object({ ...inOrganization, user_id: idSchema }),
    answer: done,
    faults: { ...UNKNOWN_MEMBER, ...LAST_OWNER, ...ABOVE_OWN_ROLE },
  },
  leaveOrganization: {
    access: { of: 'member', right: 'organization.read' },
    method: 'POST',
    path: '/account/organizations/:organization_id/leave',
    promise: 'Ends the membership of the user.',
    params: z.object(inOrganization),
    answer: done,
    faults: LAST_OWNER,
  },
  listInvitations: {
    access: { of: 'member', right: 'members.write' },
    method: 'GET',
    path: '/account/organizations/:organization_id/invitations',
    promise: 'Lists the invitations of the last 90 days, the newest first.',
    params: z.object(inOrganization),
    answer: z.object({ invitations: z.array(invitationSchema) }),
  },
  invite: {
    access: { of: 'member', right: 'members.write', recent: true },
    method: 'POST',
    path: '/account/organizations/:organization_id/invitations',
    promise: 'Mails an invitation for 7 days. It takes the place of an open one to the same address.',
    params: z.object(inOrganization),
    body: z.object({ address, role }),
    status: 201,
    answer: invitationSchema,
    faults: {
      ...ABOVE_OWN_ROLE,
      ...TOO_MANY,
      is_a_member: { status: 409, message: 'This address is that of a member already.' },
    },
  },
  withdrawInvitation: {
    access: { of: 'member', right: 'members.write', recent: true },
    method: 'DELETE',
    path: '/account/organizations/:organization_id/invitations/:invitation_id',
    promise: 'Takes an open invitation back.',
    params: z.object({ ...inOrganization, invitation_id: idSchema }),
    answer: done,
    faults: UNKNOWN_INVITATION,
  },
  acceptInvitation: {
    access: { of: 'session' },
    method: 'POST',
    path: '/account/invitations/accept',
    promise: 'Makes the user a member, once, where the invited address is one of theirs.',
    body: z.object({ token }),
    answer: organizationSchema,
    faults: {
      ...UNKNOWN_INVITATION,
      is_a_member: { status: 409, message: 'You are a member of this organization already.' },
      too_many_organizations: { status: 409, message: 'One user may belong to 20 organizations at most.' },
    },
  },
  listRegions: {
    access: { of: 'anyone' },
    method: 'GET',
    path: '/account/regions',
    promise: 'Lists the regions with the console host of each and the base address of its API.',
    answer: z.object({
      regions: z.array(z.object({ region, console_url: z.string(), base_url: z.string() })),
    }),
  },
  listWorkspaces: {
    access: { of: 'member', right: 'organization.read' },
    method: 'GET',
    path: '/account/organizations/:organization_id/workspaces',
    promise: 'Lists the workspaces, at most one a region.',
    params: z.object(inOrganization),
    answer: z.object({ workspaces: z.array(workspaceSchema) }),
  },
  createWorkspace: {
    access: { of: 'member', right: 'workspaces.write', recent: true },
    method: 'POST',
    path: '/account/organizations/:organization_id/workspaces',
    promise: 'Makes the workspace of a region. It stays in that region for ever, and there is one a region.',
    params: z.object(inOrganization),
    body: z.object({ region, name: displayName }),
    status: 201,
    answer: workspaceSchema,
    faults: {
      workspace_exists: { status: 409, message: 'This organization has its workspace of this region already.' },
    },
  },
  changeWorkspace: {
    access: { of: 'member', right: 'workspaces.change', recent: true },
    method: 'PATCH',
    path: '/account/organizations/:organization_id/workspaces/:workspace_id',
    promise:
      'Renames a workspace, or sets its monthly cap. What is left out stays. The region applies a change within 5 s; calls in flight go on.',
    params: z.object({ ...inOrganization, workspace_id: idSchema }),
    body: z
      .strictObject({ name: z.optional(displayName), monthly_cap_nano_usd: z.optional(limitNanoUsd) })
      .check(z.refine((body) => Object.keys(body).length > 0, 'must have a name or a monthly cap')),
    answer: workspaceSchema,
    faults: UNKNOWN_WORKSPACE,
  },
  createConsoleToken: {
    access: { of: 'member', right: 'usage.read' },
    method: 'POST',
    path: '/account/organizations/:organization_id/workspaces/:workspace_id/console-token',
    promise:
      "Signs a token for the console host of the workspace's region, valid for 5 minutes. It names the user, the workspace and the role.",
    params: z.object({ ...inOrganization, workspace_id: idSchema }),
    status: 201,
    answer: z.object({ token: z.string(), region, ends_at: instant }),
    faults: UNKNOWN_WORKSPACE,
  },
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
      details_are_changing: {
        status: 409,
        message: 'The address or the VAT id is being changed, so nothing was charged. Try again in some seconds.',
      },
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
      'Sets name, address and VAT id for the next invoices. A new VAT id is checked first, for a minute at most. Payments wait for that.',
    params: z.object(inOrganization),
    body: billingDetailsSchema,
    answer: billingDetails,
    faults: {
      ...PAYMENTS_AWAY,
      billing_not_provisioned: { status: 409, message: 'Nothing can be paid in here.' },
      details_are_changing: {
        status: 409,
        message: 'Another change of the address or the VAT id is under way. Try again in some seconds.',
      },
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
      'Lists the cards that the payment processor keeps for the organization, the newest first. A payment saves its card.',
    params: z.object(inOrganization),
    answer: z.object({ cards: z.array(cardSchema) }),
    faults: PAYMENTS_AWAY,
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
      unknown_card: {
        status: 409,
        message: 'The organization has no such card. Pay once: the payment saves its card.',
      },
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
  getAlerts: {
    access: { of: 'member', right: 'billing.read' },
    method: 'GET',
    path: '/account/organizations/:organization_id/workspaces/:workspace_id/alerts',
    promise: 'Shows when a workspace alerts, and whether by mail, by webhook or both.',
    params: z.object({ ...inOrganization, workspace_id: idSchema }),
    answer: alertRuleSchema,
    faults: UNKNOWN_WORKSPACE,
  },
  setAlerts: {
    access: { of: 'member', right: 'billing.write', recent: true },
    method: 'PUT',
    path: '/account/organizations/:organization_id/workspaces/:workspace_id/alerts',
    promise:
      'Sets when a workspace alerts: at 50, 80 and 100 % of the budget and of the monthly cap, and below a balance. Each once in a month, or until the next credit.',
    params: z.object({ ...inOrganization, workspace_id: idSchema }),
    body: z.strictObject({
      budget_nano_usd: limitNanoUsd,
      balance_below_nano_usd: limitNanoUsd,
      is_mailed: z.boolean(),
    }),
    answer: alertRuleSchema,
    faults: UNKNOWN_WORKSPACE,
  },
  setAlertWebhook: {
    access: { of: 'member', right: 'billing.write', recent: true },
    method: 'PUT',
    path: '/account/organizations/:organization_id/workspaces/:workspace_id/alerts/webhook',
    promise:
      'Sets the address to which alerts are posted. The answer alone shows the secret, which signs them as the Standard Webhooks specification says. Set again, it has another secret.',
    params: z.object({ ...inOrganization, workspace_id: idSchema }),
    body: z.strictObject({ url: z.string().check(z.maxLength(2_000)) }),
    answer: z.object({ ...alertRuleSchema.shape, secret: z.string() }),
    faults: {
      ...UNKNOWN_WORKSPACE,
      webhook_url_refused: {
        status: 400,
        message: 'The address must be https on port 443 of a public host, without a user and a password.',
      },
    },
  },
  removeAlertWebhook: {
    access: { of: 'member', right: 'billing.write', recent: true },
    method: 'DELETE',
    path: '/account/organizations/:organization_id/workspaces/:workspace_id/alerts/webhook',
    promise: 'Ends the webhook of a workspace. Deliveries under way are given up.',
    params: z.object({ ...inOrganization, workspace_id: idSchema }),
    answer: alertRuleSchema,
    faults: UNKNOWN_WORKSPACE,
  },
  listAlerts: {
    access: { of: 'member', right: 'billing.read' },
    method: 'GET',
    path: '/account/organizations/:organization_id/workspaces/:workspace_id/alerts/raised',
    promise:
      'Lists the alerts of a workspace with their webhooks, the newest first, 100 at a time. `before` is the last id of the page before.',
    params: z.object({ ...inOrganization, workspace_id: idSchema, before: z.optional(idSchema) }),
    answer: z.object({ alerts: z.array(alertSchema), next: z.nullable(z.string()) }),
    faults: UNKNOWN_WORKSPACE,
  },
  listAudit: {
    access: { of: 'member', right: 'audit.read' },
    method: 'GET',
    path: '/account/organizations/:organization_id/audit',
    promise:
      'Lists the changes of an organization, the newest first, 100 at a time. `before` is the last id of the page before.',
    params: z.object({
      ...inOrganization,
      before: z.optional(z.string().check(z.regex(/^\d{1,18}$/, 'must be an id of a line'))),
    }),
    answer: z.object({ lines: z.array(auditSchema), next: z.nullable(z.string()) }),
  },
});

export type AccountApi = typeof accountApi;
