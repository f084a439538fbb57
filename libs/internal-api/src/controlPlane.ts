import { regionSchema } from '@turnpike/config/region';
import { nanoUsdSchema } from '@turnpike/money/nanoUsd';
import { z } from 'zod';
import { afterId, anyId, month, movedNanoUsd, nextAfter, plainId, text } from './fields.ts';
import { defineApi } from './internalApi.ts';
import { LISTED_YEARS } from './keyTerms.ts';

/** Most entries of one page of a list. */
export const PAGE_SIZE = 500;

/** The largest limit of automatic top-ups in a month: a slip of the pen is no limit. */
export const LARGEST_AUTOMATIC_LIMIT_CENTS = 100_000_000;

export const HOLD_REASONS = ['dispute', 'fraud_review', 'verification', 'legal', 'operator'] as const;
const holdSchema = z.object({
  hold_id: z.string(),
  organization_id: z.string(),
  reason: z.enum(HOLD_REASONS),
  note: z.string(),
  /** The operator, with the person: `operator:alice`. */
  opened_by: z.string(),
  opened_at: z.string(),
  ended_by: z.string().nullable(),
  ended_at: z.string().nullable(),
});
export type HoldBody = z.input<typeof holdSchema>;

const organizationSchema = z.object({
  organization_id: z.string(),
  name: z.string(),
  created_at: z.string(),
  is_on_hold: z.boolean(),
});
const workspaceSchema = z.object({
  workspace_id: z.string(),
  region: regionSchema,
  name: z.string(),
  /** The status that the region is told. */
  status: z.enum(['active', 'on_hold', 'not_provisioned']),
  monthly_cap_nano_usd: nanoUsdSchema.nullable(),
  version: z.number().int(),
  created_at: z.string(),
});
const memberSchema = z.object({
  user_id: z.string(),
  name: z.string(),
  address: z.string().nullable(),
  role: z.string(),
  joined_at: z.string(),
});
const auditSchema = z.object({
  audit_id: z.string(),
  at: z.string(),
  actor: z.string(),
  action: z.string(),
  target: z.string(),
  before: z.unknown(),
  after: z.unknown(),
  address: z.string().nullable(),
  request_id: z.string().nullable(),
});

const PAYMENTS_AWAY = {
  payments_away: {
    status: 503,
    message: 'The payment processor does not answer. No payment was changed, and what was read is kept.',
  },
};

export const VERIFICATION_KINDS = ['document', 'business', 'phone'] as const;
export const VERIFICATION_STATUSES = ['requires_input', 'processing', 'verified', 'canceled'] as const;
/** The state of a verification at its provider. Redacted: the provider has erased the evidence. */
const verificationState = {
  status: z.enum(VERIFICATION_STATUSES),
  reason_code: text.min(1).max(100).nullable().default(null),
  expires_at: z.iso
    .datetime({ offset: true })
    .refine(...LISTED_YEARS)
    .nullable()
    .default(null),
  is_redacted: z.boolean().default(false),
};
const verificationSchema = z.object({
  verification_id: z.string(),
  organization_id: z.string(),
  user_id: z.string().nullable(),
  kind: z.enum(VERIFICATION_KINDS),
  provider: z.string(),
  provider_reference: z.string(),
  status: z.enum(VERIFICATION_STATUSES),
  reason_code: z.string().nullable(),
  requested_by: z.string(),
  requested_at: z.string(),
  decided_at: z.string().nullable(),
  expires_at: z.string().nullable(),
  redacted_at: z.string().nullable(),
});
export type VerificationBody = z.input<typeof verificationSchema>;

const dayTotalSchema = z.object({
  day: z.string(),
  spend_nano_usd: nanoUsdSchema,
  requests: z.number().int(),
  reported_at: z.string(),
});
const regionEpochSchema = z.object({
  region: regionSchema,
  epoch: z.string(),
  first_reported_at: z.string(),
  last_reported_at: z.string(),
  confirmed_by: z.string().nullable(),
  /** Null: its days are kept aside. */
  confirmed_at: z.string().nullable(),
});

const walletSchema = z.object({
  workspace_id: z.string(),
  /** All that the workspace was given. */
  credited_nano_usd: nanoUsdSchema,
  /** The spend that its region reported, the current day included. */
  spent_nano_usd: nanoUsdSchema,
  balance_nano_usd: nanoUsdSchema,
});
const transferSchema = z.object({
  transfer_id: z.string(),
  /** Below zero: it left the wallet. */
  amount_nano_usd: nanoUsdSchema,
  code: z.string(),
  source: z.string(),
  posted_at: z.string(),
});
const rateSchema = z.object({
  /** The UTC month in which it is in force. */
  month: z.string(),
  usd_per_eur: z.string(),
  series: z.string(),
  source_period: z.string(),
  source_value: z.string(),
  /** The file that it came from. */
  sha256: z.string(),
  imported_by: z.string(),
  imported_at: z.string(),
});

const topUpSchema = z.object({
  top_up_id: z.string(),
  workspace_id: z.string(),
  kind: z.enum(['checkout', 'automatic']),
  state: z.string(),
  currency: z.enum(['usd', 'eur']),
  net_cents: z.number().int(),
  tax_cents: z.number().int().nullable(),
  nano_usd: nanoUsdSchema.nullable(),
  rate_month: z.string().nullable(),
  usd_per_eur: z.string().nullable(),
  invoice_number: z.string().nullable(),
  created_at: z.string(),
  charged_at: z.string().nullable(),
});
const documentSchema = z.object({
  document_id: z.string(),
  organization_id: z.string(),
  kind: z.enum(['invoice', 'credit_note']),
  number: z.string(),
  status: z.string(),
  invoice_number: z.string().nullable(),
  currency: z.enum(['usd', 'eur']),
  total_cents: z.number().int(),
  tax_cents: z.number().int(),
  issued_at: z.string(),
  /** The keys of the bytes in the object store, with their SHA-256. */
  pdf_key: z.string(),
  pdf_sha256: z.string(),
  json_key: z.string(),
  json_sha256: z.string(),
  copied_at: z.string(),
});

const refundSchema = z.object({
  refund_id: z.string(),
  top_up_id: z.string(),
  workspace_id: z.string(),
  state: z.string(),
  currency: z.enum(['usd', 'eur']),
  /** Without tax. */
  wanted_cents: z.number().int(),
  /** Taken by the region, without tax. Null: it has not reported yet. */
  taken_cents: z.number().int().nullable(),
  tax_cents: z.number().int().nullable(),
  taken_nano_usd: nanoUsdSchema.nullable(),
  credit_note_number: z.string().nullable(),
  /** The reason of the processor, where it refused. */
  refusal: z.string().nullable(),
  note: z.string(),
  started_by: z.string(),
  created_at: z.string(),
  ended_at: z.string().nullable(),
});
const disputeSchema = z.object({
  dispute_id: z.string(),
  top_up_id: z.string(),
  workspace_id: z.string(),
  organization_id: z.string(),
  /** The processor's own word. */
  status: z.string(),
  reason: z.string(),
  currency: z.enum(['usd', 'eur']),
  /** With tax. */
  gross_cents: z.number().int(),
  /** The credit that is taken now. */
  taken_nano_usd: nanoUsdSchema,
  hold_id: z.string().nullable(),
  opened_at: z.string(),
  changed_at: z.string(),
});

const ofOrganization = z.object({ organization_id: anyId });
const NO_WORKSPACE = {
  workspace_not_found: { status: 404, message: 'The account layer has no such workspace.' },
};
const NO_ORGANIZATION = { organization_not_found: { status: 404, message: 'There is no such organization.' } };

/** The routes of the control plane for services of the regions, and for the operator of any region. */
export const controlPlaneApi = defineApi('control-plane', {
  readFeed: {
    callers: ['auth', 'usage-ledger'],
    method: 'GET',
    path: '/internal/feed',
    promise:
      "The entries of the caller's own region behind `after`, at most 500, as a page that the control plane signed. Which region it is, the caller's token says.",
    params: z.object({ after: z.coerce.number().int().min(0) }),
    answer: z.object({ page: z.string() }),
  },
  readFeedDigest: {
    callers: ['auth'],
    method: 'GET',
    path: '/internal/feed/digest',
    promise:
      "Hashes of the workspaces of the caller's own region behind `after`, by id, at most 200, signed. They are of the rows and not of the feed, so a change that wrote no entry shows.",
    params: z.object({ after: afterId }),
    answer: z.object({ digest: z.string() }),
  },
  putDayTotals: {
    callers: ['usage-ledger'],
    method: 'PUT',
    path: '/internal/day-totals',
    promise:
      "Takes the sums of a UTC day of workspaces of the caller's region. A day replaces one of a lower sequence of the same epoch. `outdated`: the ledger was restored, nothing is taken, and it begins a new epoch. `aside`: they count once an operator has confirmed the epoch.",
    bodyLimitBytes: 262_144,
    body: z.object({
      /** The life of the region's ledger. */
      epoch: z.uuid(),
      totals: z
        .array(
          z.object({
            workspace_id: anyId,
            day: z.iso.date(),
            spend_nano_usd: nanoUsdSchema,
            requests: z.number().int().min(0),
            /** The sequence of the workspace after the last change of the day. */
            seq: z.number().int().min(0),
          }),
        )
        .max(PAGE_SIZE),
    }),
    answer: z.object({
      standing: z.enum(['counted', 'aside', 'outdated']),
      /** The life of the account database. */
      account_epoch: z.string(),
    }),
    faults: {
      workspace_of_another_region: { status: 403, message: 'A workspace of the report is of another region.' },
    },
  },
  putTakeBack: {
    callers: ['usage-ledger'],
    method: 'PUT',
    path: '/internal/take-backs/:take_back_id',
    promise: "Takes how much of wanted credit the caller's region took. The first report counts, and is the answer.",
    params: z.object({ take_back_id: anyId }),
    body: z.object({ taken_nano_usd: nanoUsdSchema }),
    answer: z.object({ taken_nano_usd: nanoUsdSchema }),
    faults: {
      take_back_not_found: { status: 404, message: 'The account layer wants no such credit of this region back.' },
      take_back_differs: {
        status: 409,
        message: 'This is more than the wanted credit, or no multiple of its unit. Nothing was booked.',
      },
    },
  },
  listDayTotals: {
    callers: ['operator'],
    method: 'GET',
    path: '/internal/workspaces/:workspace_id/day-totals',
    promise: 'by day, 500 a page, as the region told them last; those of an epoch that is not confirmed are left out',
    params: z.object({ workspace_id: anyId, after: z.union([z.literal(''), z.iso.date()]).default('') }),
    answer: z.object({ days: z.array(dayTotalSchema), next_after: nextAfter }),
  },
  listRegionEpochs: {
    callers: ['operator'],
    method: 'GET',
    path: '/internal/region-epochs',
    promise: 'the lives of the ledger of each region, the newest first',
    params: z.object({}),
    answer: z.object({ epochs: z.array(regionEpochSchema) }),
  },
  confirmRegionEpoch: {
    callers: ['operator'],
    method: 'POST',
    path: '/internal/region-epochs/:region/confirm',
    promise: 'makes the days of a restored ledger count',
    params: z.object({ region: regionSchema }),
    body: z.strictObject({ epoch: z.uuid() }),
    answer: regionEpochSchema,
    faults: { epoch_not_found: { status: 404, message: 'The region has not reported in this epoch.' } },
  },
  getWallet: {
    callers: ['operator'],
    method: 'GET',
    path: '/internal/workspaces/:workspace_id/wallet',
    promise: 'the credit that a workspace was given, less the spend that its region reported',
    params: z.object({ workspace_id: anyId }),
    answer: walletSchema,
    faults: NO_WORKSPACE,
  },
  listTransfers: {
    callers: ['operator'],
    method: 'GET',
    path: '/internal/workspaces/:workspace_id/wallet/transfers',
    promise: 'the transfers of a wallet, 500 a page, by their ids; those of a day come once it has ended',
    params: z.object({ workspace_id: anyId, after: afterId }),
    answer: z.object({ transfers: z.array(transferSchema), next_after: nextAfter }),
    faults: NO_WORKSPACE,
  },
  adjustCredit: {
    callers: ['operator'],
    method: 'POST',
    path: '/internal/workspaces/:workspace_id/wallet/adjustments',
    promise: 'books credit that the operator gave in the region, or below zero took there, once for each credit id',
    params: z.object({ workspace_id: anyId }),
    body: z.strictObject({ credit_id: plainId, amount_nano_usd: movedNanoUsd, note: text.max(500) }),
    answer: z.object({ applied: z.boolean() }),
    faults: {
      ...NO_WORKSPACE,
      credit_conflict: { status: 409, message: 'The wallet has another amount under this credit id.' },
    },
  },
  listTopUps: {
    callers: ['operator'],
    method: 'GET',
    path: '/internal/top-ups',
    promise: 'payments into the wallets of all workspaces or of one, in any state, 500 a page, by their ids',
    params: z.object({ after: afterId, workspace_id: anyId.optional() }),
    answer: z.object({ top_ups: z.array(topUpSchema), next_after: nextAfter }),
  },
  settleTopUp: {
    callers: ['operator'],
    method: 'POST',
    path: '/internal/top-ups/:top_up_id/settle',
    promise: 'asks the payment processor for a payment, and credits it if it is there and was not credited yet',
    params: z.object({ top_up_id: anyId }),
    answer: topUpSchema,
    faults: {
      top_up_not_found: { status: 404, message: 'There is no such top-up.' },
      billing_not_provisioned: { status: 409, message: 'The control plane has no account at a payment processor.' },
      ...PAYMENTS_AWAY,
    },
  },
  startRefund: {
    callers: ['operator'],
    method: 'POST',
    path: '/internal/top-ups/:top_up_id/refunds',
    promise:
      'wants the credit of a top-up back, or that of some of its cents. A credit note refunds what the region took of it.',
    params: z.object({ top_up_id: anyId }),
    body: z.strictObject({
      /** Absent: all that is left of the top-up. */
      net_cents: z.number().int().min(1).optional(),
      note: text.max(500),
    }),
    answer: refundSchema,
    faults: {
      top_up_not_found: { status: 404, message: 'There is no such top-up.' },
      top_up_not_invoiced: {
        status: 409,
        message: 'This top-up is {state}. A refund is a credit note for its invoice, which is not there.',
      },
      top_up_disputed: { status: 409, message: 'The payment is disputed or was lost, so it cannot be refunded.' },
      refund_under_way: { status: 409, message: 'The refund {refund_id} of this top-up is under way.' },
      refund_too_large: { status: 409, message: '{left} cents without tax are left of this top-up.' },
      billing_not_provisioned: { status: 409, message: 'The control plane has no account at a payment processor.' },
    },
  },
  listRefunds: {
    callers: ['operator'],
    method: 'GET',
    path: '/internal/refunds',
    promise: 'refunds of all workspaces or of one, in any state, 500 a page, by their ids',
    params: z.object({ after: afterId, workspace_id: anyId.optional() }),
    answer: z.object({ refunds: z.array(refundSchema), next_after: nextAfter }),
  },
  getRefund: {
    callers: ['operator'],
    method: 'GET',
    path: '/internal/refunds/:refund_id',
    promise: 'a refund with its state and the credit note',
    params: z.object({ refund_id: anyId }),
    answer: refundSchema,
    faults: { refund_not_found: { status: 404, message: 'There is no such refund.' } },
  },
  listDocuments: {
    callers: ['operator'],
    method: 'GET',
    path: '/internal/documents',
    promise: 'copies of invoices and credit notes of all organizations or of one, 500 a page, by their ids',
    params: z.object({ after: afterId, organization_id: anyId.optional() }),
    answer: z.object({ documents: z.array(documentSchema), next_after: nextAfter }),
  },
  getDocument: {
    callers: ['operator'],
    method: 'GET',
    path: '/internal/documents/:document',
    promise: 'the copy of one invoice or credit note, by its id or its number',
    params: z.object({ document: anyId }),
    answer: documentSchema,
    faults: { document_not_found: { status: 404, message: 'There is no such invoice or credit note.' } },
  },
  listDisputes: {
    callers: ['operator'],
    method: 'GET',
    path: '/internal/disputes',
    promise: 'disputes of payments, ended ones as well, 500 a page, by their ids',
    params: z.object({ after: afterId }),
    answer: z.object({ disputes: z.array(disputeSchema), next_after: nextAfter }),
  },
  comparePayments: {
    callers: ['operator'],
    method: 'POST',
    path: '/internal/payments/compare',
    promise:
      'reads the movements of our balance at the payment processor, and names those that differ from our books, 500 at most. A difference that is younger than the grace, an hour unless given, may be on its way',
    params: z.object({ grace_seconds: z.coerce.number().int().min(0).max(86_400).optional() }),
    answer: z.object({
      differences: z.array(
        z.object({
          /** A charge, a refund or a dispute of the processor. */
          source: z.string().nullable(),
          currency: z.string(),
          /** Null: the processor has no such movement. */
          theirs_cents: z.number().nullable(),
          /** Null: our books have no such movement. */
          ours_cents: z.number().nullable(),
          cause: z.string().nullable(),
          at: z.string(),
        }),
      ),
      /** Our balance at the processor, by its movements and by our books. */
      balances: z.array(z.object({ currency: z.string(), theirs_cents: z.number(), ours_cents: z.number() })),
    }),
    faults: {
      billing_not_provisioned: { status: 409, message: 'The control plane has no account at a payment processor.' },
      ...PAYMENTS_AWAY,
    },
  },
  setAutomaticLimit: {
    callers: ['operator'],
    method: 'PUT',
    path: '/internal/organizations/:organization_id/automatic-limit',
    promise:
      'what automatic top-ups of an organization may be in a month, without tax, in each currency; null for the usual limit',
    params: z.object({ organization_id: anyId }),
    body: z.strictObject({ month_limit_cents: z.number().int().min(0).max(LARGEST_AUTOMATIC_LIMIT_CENTS).nullable() }),
    answer: z.object({
      organization_id: z.string(),
      month_limit_cents: z.number().int(),
      /** The limit before. */
      was_cents: z.number().int(),
    }),
    faults: { organization_not_found: { status: 404, message: 'There is no such organization.' } },
  },
  listRates: {
    callers: ['operator'],
    method: 'GET',
    path: '/internal/rates',
    promise: 'dollars per euro by the month in which they are in force, the newest first, 500 at most',
    params: z.object({}),
    answer: z.object({ rates: z.array(rateSchema) }),
  },
  importRates: {
    callers: ['operator'],
    method: 'POST',
    path: '/internal/rates',
    promise:
      'adds the averages of ended months, each as the rate of the month after it. A month keeps the rate that it has; `kept` names those that differ',
    body: z.strictObject({
      series: text.min(1).max(100),
      /** The hash of the file with the observations. */
      sha256: z.string().regex(/^[0-9a-f]{64}$/, 'must be a SHA-256 in hex'),
      observations: z
        .array(
          z.strictObject({
            period: month,
            value: z.string().regex(/^\d\.\d{1,20}$/, 'must be dollars per euro in plain decimals'),
          }),
        )
        .min(1)
        .max(120),
      /** Takes a rate that differs by more than 10 % from the month before. */
      is_confirmed: z.boolean().default(false),
    }),
    answer: z.object({
      added: z.number().int(),
      kept: z.array(z.object({ month: z.string(), value: z.string(), known_value: z.string() })),
    }),
    faults: {
      month_not_over: { status: 409, message: 'The month {month} is not over, so its average is not final.' },
      rate_out_of_range: {
        status: 409,
        message:
          'The rate of {month}, {value}, differs by more than {percent} % from the month before. Nothing was added.',
      },
    },
  },
  listOrganizations: {
    callers: ['operator'],
    method: 'GET',
    path: '/internal/organizations',
    promise: '500 a page, by their ids',
    params: z.object({ after: afterId }),
    answer: z.object({ organizations: z.array(organizationSchema), next_after: nextAfter }),
  },
  getOrganization: {
    callers: ['operator'],
    method: 'GET',
    path: '/internal/organizations/:organization_id',
    promise: 'an organization and its workspaces of all regions',
    params: ofOrganization,
    answer: organizationSchema.extend({ workspaces: z.array(workspaceSchema) }),
    faults: NO_ORGANIZATION,
  },
  listMembers: {
    callers: ['operator'],
    method: 'GET',
    path: '/internal/organizations/:organization_id/members',
    promise: 'by the day they joined',
    params: ofOrganization,
    answer: z.object({ members: z.array(memberSchema) }),
    faults: NO_ORGANIZATION,
  },
  listAudit: {
    callers: ['operator'],
    method: 'GET',
    path: '/internal/organizations/:organization_id/audit',
    promise: 'the newest first, 100 a page; `before` is the last id of the page before',
    params: ofOrganization.extend({
      before: z
        .string()
        .regex(/^\d{1,18}$/, 'must be an id of a line')
        .optional(),
    }),
    answer: z.object({ lines: z.array(auditSchema), next: z.string().nullable() }),
    faults: NO_ORGANIZATION,
  },
  listOpenHolds: {
    callers: ['operator'],
    method: 'GET',
    path: '/internal/holds',
    promise: 'the open ones of every organization, 500 a page, by their ids',
    params: z.object({ after: afterId }),
    answer: z.object({ holds: z.array(holdSchema), next_after: nextAfter }),
  },
  listHolds: {
    callers: ['operator'],
    method: 'GET',
    path: '/internal/organizations/:organization_id/holds',
    promise: 'open and ended ones, 500 a page, by their ids',
    params: ofOrganization.extend({ after: afterId }),
    answer: z.object({ holds: z.array(holdSchema), next_after: nextAfter }),
    faults: NO_ORGANIZATION,
  },
  openHold: {
    callers: ['operator'],
    method: 'POST',
    path: '/internal/organizations/:organization_id/holds',
    promise:
      'puts every workspace of the organization on hold, beside the holds that are open; the regions read it from the feed',
    params: ofOrganization,
    body: z.strictObject({ reason: z.enum(HOLD_REASONS), note: text.max(1_000) }),
    answer: holdSchema,
    faults: NO_ORGANIZATION,
  },
  endHold: {
    callers: ['operator'],
    method: 'POST',
    path: '/internal/holds/:hold_id/end',
    promise:
      'the workspaces go on when the last open hold of their organization has ended; an ended one stays as it was',
    params: z.object({ hold_id: anyId }),
    answer: holdSchema,
    faults: { hold_not_found: { status: 404, message: 'There is no such hold.' } },
  },
  listVerifications: {
    callers: ['operator'],
    method: 'GET',
    path: '/internal/organizations/:organization_id/verifications',
    promise: '500 a page, by their ids',
    params: ofOrganization.extend({ after: afterId }),
    answer: z.object({ verifications: z.array(verificationSchema), next_after: nextAfter }),
    faults: NO_ORGANIZATION,
  },
  addVerification: {
    callers: ['operator'],
    method: 'POST',
    path: '/internal/organizations/:organization_id/verifications',
    promise:
      'records a check by an identity provider, by its reference alone; of a member, or of the organization itself',
    params: ofOrganization,
    body: z.strictObject({
      user_id: anyId.nullable().default(null),
      kind: verificationSchema.shape.kind,
      provider: text.min(1).max(100),
      provider_reference: text.min(1).max(200),
      ...verificationState,
    }),
    answer: verificationSchema,
    faults: {
      ...NO_ORGANIZATION,
      unknown_member: { status: 404, message: 'There is no such member.' },
      verification_exists: { status: 409, message: 'This reference of this provider is recorded already.' },
    },
  },
  setVerification: {
    callers: ['operator'],
    method: 'PUT',
    path: '/internal/verifications/:verification_id',
    promise: 'the state at the provider; one that is redacted stays redacted',
    params: z.object({ verification_id: anyId }),
    body: z.strictObject(verificationState),
    answer: verificationSchema,
    faults: { verification_not_found: { status: 404, message: 'There is no such verification.' } },
  },
});
