import type { Region } from '@turnpike/config/region';
import { newUuidV7 } from '@turnpike/http-service/newUuidV7';
import { PAGE_SIZE } from '@turnpike/internal-api/controlPlane';
import { sql } from '@turnpike/postgres/sql';
import { ApiError } from '@turnpike/public-api/apiError';
import Stripe from 'stripe';
import { type Origin, writeAudit } from '../audit/audit.ts';
import type { Db, Tx } from '../database/openDatabase.ts';
import { isOnHold, lockOrganization } from '../organizations/workspaces.ts';
import { findOfferedRate, type Rate, toRateText } from '../rates/rates.ts';
import { AMOUNTS, CURRENCY_OF, type Currency, toNanoUsd, toUnits } from './currencies.ts';
import { findCustomer, getCustomer } from './customers.ts';
import { type Payments, throwPaymentsAway } from './paymentProcessor.ts';
import type { SettleQueue } from './settleQueue.ts';
import { findTaxChange, removeLostTaxIds } from './taxIds.ts';
import type { TopUpState } from './topUpStates.ts';

export interface BillingDependencies {
  db: Db;
  /** Undefined: nothing can be paid in. */
  payments: Payments | undefined;
  settleQueue: SettleQueue;
  accountOrigin: string;
}

export interface OfWorkspace {
  organizationId: string;
  workspaceId: string;
}

/** The path to which the Checkout page leads back. */
export const CHECKOUT_RETURN_PATH = '/account/top-ups/return';

const PAGE = 100;
/** Checkout pages that wait for one organization: more would try out cards. */
const MOST_OPEN = 10;
const MINUTE_MS = 60_000;
const CHECKOUT_MS = 60 * MINUTE_MS;
/** The processor's shortest life of a page is 30 minutes. Its clock may differ from ours. */
const SHORTEST_CHECKOUT_MS = 32 * MINUTE_MS;
const RATE_OF_THE_MOMENT = 'Your credit is in US dollars. The rate is that of the month in which you pay.';

/** Returns the region of a workspace. Throws `unknown_workspace` for one of another organization. */
export async function getRegion(db: Db, { organizationId, workspaceId }: OfWorkspace): Promise<Region> {
  const workspace = await db.workspace.findUnique({ where: { workspaceId, organizationId } });
  if (!workspace) throw new ApiError({ kind: 'unknown_workspace' });
  return workspace.region as Region;
}

/** Returns the amounts that a workspace offers, and the rate of euros. */
export async function getBilling({ db, payments }: BillingDependencies, where: OfWorkspace, now = new Date()) {
  const currency = CURRENCY_OF[await getRegion(db, where)];
  const rate = currency === 'eur' ? await findOfferedRate(db, now) : undefined;
  const { presets, minimum, maximum } = AMOUNTS[currency];
  return {
    currency,
    preset_cents: presets,
    minimum_cents: minimum,
    maximum_cents: maximum,
    is_open: payments !== undefined && (currency === 'usd' || rate !== undefined),
    usd_per_eur: rate ? toRateText(rate.rateE4) : null,
    rate_month: rate?.month ?? null,
  };
}

/** Refuses an amount that one payment may not be. Throws `amount_out_of_range`. */
export function checkAmount(currency: Currency, netCents: number): void {
  const { minimum, maximum } = AMOUNTS[currency];
  if (netCents < minimum || netCents > maximum)
    throw new ApiError({
      kind: 'amount_out_of_range',
      minimum: toUnits(minimum),
      maximum: toUnits(maximum),
      currency: currency.toUpperCase(),
    });
}

/** Returns the rate of euros, and null for dollars. Throws `euro_rate_missing`. */
async function getOfferedRate(db: Db, currency: Currency, now: Date): Promise<Rate | null> {
  if (currency === 'usd') return null;
  const rate = await findOfferedRate(db, now);
  if (!rate) throw new ApiError({ kind: 'euro_rate_missing' });
  return rate;
}

/**
 * Returns the tax, the total and the credit of a payment. The processor computes the tax for the address that it has of the customer.
 * Without one the tax is null. Throws `billing_not_provisioned`, `amount_out_of_range`, `euro_rate_missing` or `payments_away`.
 */
export async function previewTopUp(
  { db, payments }: BillingDependencies,
  { organizationId, workspaceId, netCents }: OfWorkspace & { netCents: number },
  now = new Date(),
) {
  const currency = CURRENCY_OF[await getRegion(db, { organizationId, workspaceId })];
  if (!payments) throw new ApiError({ kind: 'billing_not_provisioned' });
  checkAmount(currency, netCents);
  const rate = await getOfferedRate(db, currency, now);
  const tax = await previewTax({ db, payments }, { organizationId, currency, netCents }).catch(throwPaymentsAway);
  return {
    currency,
    net_cents: netCents,
    tax_cents: tax?.taxCents ?? null,
    total_cents: tax ? netCents + tax.taxCents : null,
    is_reverse_charge: tax?.isReverseCharge ?? false,
    nano_usd: String(toNanoUsd(currency, BigInt(netCents), rate?.rateE4 ?? null)),
    usd_per_eur: rate ? toRateText(rate.rateE4) : null,
    rate_month: rate?.month ?? null,
  };
}

/** The code with which the processor says that it has no address, or one of no known country. */
const LOCATION_UNKNOWN = 'customer_tax_location_invalid';

async function previewTax(
  { db, payments: { stripe, taxCode } }: { db: Db; payments: Payments },
  { organizationId, currency, netCents }: { organizationId: string; currency: Currency; netCents: number },
): Promise<{ taxCents: number; isReverseCharge: boolean } | undefined> {
  const customer = await findCustomer(db, organizationId);
  if (customer === undefined) return undefined;
  const item = { amount: netCents, currency, tax_behavior: 'exclusive', tax_code: taxCode } as const;
  try {
    const { total_taxes: taxes } = await stripe.invoices.createPreview({
      ...{ customer, currency, automatic_tax: { enabled: true }, invoice_items: [item] },
    });
    return {
      taxCents: (taxes ?? []).reduce((sum, { amount }) => sum + amount, 0),
      isReverseCharge: (taxes ?? []).some(({ taxability_reason: reason }) => reason === 'reverse_charge'),
    };
  } catch (error) {
    if (error instanceof Stripe.errors.StripeError && error.code === LOCATION_UNKNOWN) return undefined;
    throw error;
  }
}

/**
 * Makes a top-up and its Checkout page. Throws `billing_not_provisioned`, `amount_out_of_range`, `euro_rate_missing`,
 * `organization_on_hold`, `vat_id_pending`, `details_are_changing`, `too_many_top_ups` or `payments_away`; none of them leaves a page on
 * which money could be paid.
 */
export async function startTopUp(
  { db, payments, settleQueue, accountOrigin }: BillingDependencies,
  { organizationId, workspaceId, userId, netCents }: OfWorkspace & { userId: string; netCents: number },
  origin: Origin,
  now = new Date(),
) {
  const currency = CURRENCY_OF[await getRegion(db, { organizationId, workspaceId })];
  if (!payments) throw new ApiError({ kind: 'billing_not_provisioned' });
  checkAmount(currency, netCents);
  await getOfferedRate(db, currency, now);

  const topUpId = `topup_${newUuidV7()}`;
  const endsAt = toCheckoutEnd(now);
  await db.$transaction(async (tx) => {
    await lockOrganization(tx, organizationId);
    if (await isOnHold(tx, organizationId)) throw new ApiError({ kind: 'organization_on_hold' });
    const [open] = await tx.$queryRaw<{ count: number }[]>(sql`
      SELECT count(*)::INTEGER AS count FROM top_up JOIN workspace USING (workspace_id)
      WHERE organization_id = ${organizationId} AND state IN ('created', 'open') AND session_ends_at > ${now}`);
    if (open && open.count >= MOST_OPEN) throw new ApiError({ kind: 'too_many_top_ups', most: String(MOST_OPEN) });
    const refusal = await findTaxChange(tx, organizationId);
    if (refusal) throw new ApiError({ kind: refusal });
    await tx.$executeRaw(sql`
      INSERT INTO top_up (top_up_id, workspace_id, currency, net_cents, started_by, session_ends_at)
      VALUES (${topUpId}, ${workspaceId}, ${currency}, ${netCents}, ${userId}, ${endsAt})`);
    await writeAudit(tx, origin, {
      ...{ organizationId, actor: userId, action: 'top_up.started', target: topUpId },
      after: { currency, net_cents: netCents },
    });
    await settleQueue.follow(tx, topUpId);
  });

  // The customer cannot pay on a page whose address was not given out.
  const expire = (of: Tx) =>
    of.$executeRaw(sql`
      UPDATE top_up SET state = 'expired'
      WHERE top_up_id = ${topUpId} AND state IN ('created', 'open') AND session_id IS NULL`);
  const session = await openCheckout(
    { db, payments, accountOrigin },
    { topUpId, organizationId, currency, netCents, endsAt, now },
  ).catch(async (error: unknown) => {
    await db.$transaction(expire);
    return throwPaymentsAway(error);
  });
  const refusal = await db.$transaction(async (tx) => {
    // A VAT id that was entered meanwhile may change the tax: nobody is sent to this page.
    const change = await findTaxChange(tx, organizationId);
    if (change) {
      await expire(tx);
      return change;
    }
    // A settler that looked at the top-up meanwhile has called it open, without a page.
    const stored = await tx.$executeRaw(sql`
      UPDATE top_up SET state = 'open', session_id = ${session.id}
      WHERE top_up_id = ${topUpId} AND state IN ('created', 'open') AND session_id IS NULL`);
    return stored === 1 ? undefined : 'details_are_changing';
  });
  if (refusal) throw new ApiError({ kind: refusal });
  if (session.url === null) throw new ApiError({ kind: 'payments_away' });
  return { top_up: await getTopUp(db, topUpId), checkout_url: session.url };
}

/**
 * Returns the address of the Checkout page of an open top-up. Throws `top_up_not_found`, `top_up_is_over`, `billing_not_provisioned` or
 * `payments_away`.
 */
export async function resumeTopUp(
  { db, payments }: BillingDependencies,
  { organizationId, workspaceId, topUpId }: OfWorkspace & { topUpId: string },
): Promise<{ checkout_url: string }> {
  await getRegion(db, { organizationId, workspaceId });
  const [topUp] = await db.query(sql<{ sessionId: string | null; state: TopUpState; paymentUrl: string | null }>`
    SELECT session_id AS "sessionId", state, payment_url AS "paymentUrl" FROM top_up WHERE top_up_id = ${topUpId} AND workspace_id = ${workspaceId}`);
  if (!topUp) throw new ApiError({ kind: 'top_up_not_found' });
  if (!payments) throw new ApiError({ kind: 'billing_not_provisioned' });
  if (topUp.state === 'wants_cardholder' && topUp.paymentUrl !== null) return { checkout_url: topUp.paymentUrl };
  if (topUp.sessionId === null) throw new ApiError({ kind: 'top_up_is_over' });
  const { status, url } = await payments.stripe.checkout.sessions.retrieve(topUp.sessionId).catch(throwPaymentsAway);
  if (status !== 'open' || url === null) throw new ApiError({ kind: 'top_up_is_over' });
  return { checkout_url: url };
}

/** The page ends with the month whose rate it offers, where that leaves it half an hour. */
function toCheckoutEnd(now: Date): Date {
  const monthEnd = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1);
  const usual = now.getTime() + CHECKOUT_MS;
  return new Date(monthEnd - now.getTime() >= SHORTEST_CHECKOUT_MS ? Math.min(usual, monthEnd) : usual);
}

interface NewCheckout {
  topUpId: string;
  organizationId: string;
  currency: Currency;
  netCents: number;
  endsAt: Date;
  now: Date;
}

async function openCheckout(
  { db, payments, accountOrigin }: { db: Db; payments: Payments; accountOrigin: string },
  { topUpId, organizationId, currency, netCents, endsAt, now }: NewCheckout,
): Promise<Stripe.Checkout.Session> {
  const { stripe, taxCode } = payments;
  const customer = await getCustomer({ db, stripe }, organizationId);
  await removeLostTaxIds({ db, stripe }, { organizationId, customer });
  const [{ hasAddress } = { hasAddress: false }] = await db.query(sql<{ hasAddress: boolean }>`
    SELECT country IS NOT NULL AS "hasAddress" FROM billing_account WHERE organization_id = ${organizationId}`);
  const metadata = { top_up_id: topUpId };
  const returnUrl = `${accountOrigin}${CHECKOUT_RETURN_PATH}?top_up=${topUpId}`;
  const isOverMonthEnd = new Date(endsAt.getTime() - 1).getUTCMonth() !== now.getUTCMonth() && currency === 'eur';
  return stripe.checkout.sessions.create(
    {
      mode: 'payment',
      customer,
      // An address that our page took fixes the tax before the payment. Otherwise the Checkout page asks for one, and keeps it.
      ...(!hasAddress && { customer_update: { address: 'auto', name: 'auto' } }),
      client_reference_id: topUpId,
      metadata,
      allowed_payment_method_types: ['card'],
      line_items: [
        {
          quantity: 1,
          price_data: {
            ...{ currency, unit_amount: netCents, tax_behavior: 'exclusive' },
            product_data: { name: 'API credit', tax_code: taxCode },
          },
        },
      ],
      automatic_tax: { enabled: true },
      adaptive_pricing: { enabled: false },
      invoice_creation: { enabled: true, invoice_data: { metadata } },
      payment_intent_data: { metadata, setup_future_usage: 'off_session' },
      expires_at: Math.floor(endsAt.getTime() / 1_000),
      ...(isOverMonthEnd && { custom_text: { submit: { message: RATE_OF_THE_MOMENT } } }),
      ...{ success_url: returnUrl, cancel_url: returnUrl },
    },
    { idempotencyKey: `${topUpId}:checkout` },
  );
}

interface TopUpRow {
  topUpId: string;
  workspaceId: string;
  state: TopUpState;
  currency: Currency;
  netCents: bigint;
  taxCents: bigint | null;
  nanoUsd: bigint | null;
  rateMonth: string | null;
  rateE4: number | null;
  invoiceNumber: string | null;
  kind: 'checkout' | 'automatic';
  createdAt: Date;
  chargedAt: Date | null;
}

const COLUMNS = sql`
  top_up_id AS "topUpId", workspace_id AS "workspaceId", state, currency, net_cents AS "netCents", tax_cents AS "taxCents",
  nano_usd AS "nanoUsd", rate_month AS "rateMonth", rate_e4 AS "rateE4", invoice_number AS "invoiceNumber",
  kind, top_up.created_at AS "createdAt", charged_at AS "chargedAt"`;

const toBody = (row: TopUpRow) => ({
  top_up_id: row.topUpId,
  workspace_id: row.workspaceId,
  kind: row.kind,
  state: row.state,
  currency: row.currency,
  net_cents: Number(row.netCents),
  tax_cents: row.taxCents === null ? null : Number(row.taxCents),
  nano_usd: row.nanoUsd === null ? null : String(row.nanoUsd),
  rate_month: row.rateMonth,
  usd_per_eur: row.rateE4 === null ? null : toRateText(row.rateE4),
  invoice_number: row.invoiceNumber,
  created_at: row.createdAt.toISOString(),
  charged_at: row.chargedAt?.toISOString() ?? null,
});

/** Returns a top-up. Throws `top_up_not_found`. */
export async function getTopUp(db: Db, topUpId: string) {
  const [row] = await db.query(sql<TopUpRow>`SELECT ${COLUMNS} FROM top_up WHERE top_up_id = ${topUpId}`);
  if (!row) throw new ApiError({ kind: 'top_up_not_found' });
  return toBody(row);
}

/** Lists the top-ups of a workspace, the newest first, 100 a page. `next` is what to ask for as `before`, null on the last page. */
export async function listTopUps(db: Db, where: OfWorkspace, before: string | undefined) {
  await getRegion(db, where);
  const rows = await db.query(sql<TopUpRow>`
    SELECT ${COLUMNS} FROM top_up WHERE workspace_id = ${where.workspaceId} AND top_up_id < ${before ?? 'topup_~'}
    ORDER BY top_up_id DESC LIMIT ${PAGE + 1}`);
  const topUps = rows.slice(0, PAGE).map(toBody);
  return { top_ups: topUps, next: rows.length > PAGE ? (topUps.at(-1)?.top_up_id ?? null) : null };
}

/** Lists the top-ups of all workspaces or of one by their ids, for the operator. */
export async function listAllTopUps(
  db: Db,
  { after, workspaceId }: { after: string; workspaceId: string | undefined },
) {
  const rows = await db.query(sql<TopUpRow>`
    SELECT ${COLUMNS} FROM top_up
    WHERE top_up_id > ${after} AND (${workspaceId ?? null}::TEXT IS NULL OR workspace_id = ${workspaceId ?? null})
    ORDER BY top_up_id LIMIT ${PAGE_SIZE}`);
  return {
    top_ups: rows.map(toBody),
    next_after: rows.length < PAGE_SIZE ? null : (rows.at(-1)?.topUpId ?? null),
  };
}
