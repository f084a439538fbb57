import { sql } from '@turnpike/postgres/sql';
import type Stripe from 'stripe';
import { SYSTEM, writeAudit } from '../audit/audit.ts';
import type { Db } from '../database/openDatabase.ts';
import { type Payments, throwPaymentsAway } from './paymentProcessor.ts';
import { askAbout, changeAlone, hasCode, removeTaxId, type VatState } from './taxIds.ts';

interface Asked {
  customer: string;
  vatId: string;
  vatState: VatState;
  askedAt: Date;
  taxId: string | null;
}

async function findAsked(db: Db, organizationId: string): Promise<Asked | undefined> {
  const [asked] = await db.query(sql<Asked>`
    SELECT psp_customer AS customer, vat_id AS "vatId", vat_state AS "vatState", vat_asked_at AS "askedAt", psp_tax_id AS "taxId"
    FROM billing_account WHERE organization_id = ${organizationId} AND vat_id IS NOT NULL`);
  return asked;
}

/** Top-ups wait for a verdict so long. After it the VAT id counts as one that cannot be asked about. */
const LONGEST_WAIT_MS = 60_000;

/**
 * Reads the verdict about a VAT id, and returns its state; undefined where there is no VAT id. One that is not verified is taken off the
 * customer, so that VAT is charged. Pages opened before the verdict end, because their tax may be another one. Throws
 * `details_are_changing` beside a change, and `payments_away`.
 */
export async function readVerdict(
  { db, payments: { stripe } }: { db: Db; payments: Payments },
  organizationId: string,
): Promise<VatState | undefined> {
  // Payments are refused while details change, so a second look at a known verdict changes nothing.
  const known = await findAsked(db, organizationId);
  if (known?.vatState !== 'pending') return known?.vatState;
  return changeAlone(db, organizationId, async () => {
    const asked = await findAsked(db, organizationId);
    if (asked?.vatState !== 'pending' || asked.taxId === null) return asked?.vatState;
    await endOpenPages(db, stripe, organizationId);
    const { customer, taxId } = asked;
    const { status, name } = await findVerdict(stripe, { customer, taxId });
    const isLate = asked.askedAt.getTime() + LONGEST_WAIT_MS < Date.now();
    if (status === 'pending' && !isLate) return 'pending';
    const state = status === 'pending' ? 'unavailable' : status;
    if (state !== 'verified') await removeTaxId(stripe, customer, taxId);
    await db.$transaction(async (tx) => {
      await tx.$executeRaw(sql`
        UPDATE billing_account SET vat_state = ${state}, vat_checked_at = now(), vat_name = ${name},
          psp_tax_id = ${state === 'verified' ? taxId : null}
        WHERE organization_id = ${organizationId}`);
      await writeAudit(tx, SYSTEM, {
        ...{ organizationId, actor: 'system', action: 'vat_id.checked', target: organizationId },
        after: { vat_id: asked.vatId, vat_state: state },
      });
    });
    return state;
  });
}

const VERDICTS = ['pending', 'verified', 'unverified'] as const;

async function findVerdict(
  stripe: Stripe,
  { customer, taxId }: { customer: string; taxId: string },
): Promise<{ status: VatState; name: string | null }> {
  try {
    const { verification } = await stripe.customers.retrieveTaxId(customer, taxId);
    const status = VERDICTS.find((verdict) => verdict === verification?.status) ?? 'unavailable';
    return { status, name: verification?.verified_name ?? null };
  } catch (error) {
    if (hasCode(error, 'resource_missing')) return { status: 'unavailable', name: null };
    throwPaymentsAway(error);
  }
}

/** Asks the processor anew about a VAT id that was verified long ago, or could not be asked about. */
export async function askAgain(
  { db, payments: { stripe } }: { db: Db; payments: Payments },
  organizationId: string,
): Promise<void> {
  await changeAlone(db, organizationId, async () => {
    const asked = await findAsked(db, organizationId);
    if (!asked || asked.vatState === 'pending') return;
    const { customer, vatId, taxId: old } = asked;
    // VAT is charged from here to the verdict, also if nothing below is done.
    await db.execute(sql`
      UPDATE billing_account SET vat_state = 'unavailable', psp_tax_id = NULL WHERE organization_id = ${organizationId}`);
    if (old !== null) await removeTaxId(stripe, customer, old);
    const { id } = await askAbout(stripe, customer, vatId);
    await db.execute(sql`
      UPDATE billing_account SET vat_state = 'pending', vat_asked_at = now(), psp_tax_id = ${id} WHERE organization_id = ${organizationId}`);
  });
}

/**
 * Ends the Checkout pages of an organization, because their tax may become another one. A page that is over by now stays what it is. A
 * page whose id is not stored yet is not given out.
 */
export async function endOpenPages(db: Db, stripe: Stripe, organizationId: string): Promise<void> {
  await db.execute(sql`
    UPDATE top_up SET state = 'expired' FROM workspace
    WHERE workspace.workspace_id = top_up.workspace_id AND organization_id = ${organizationId} AND kind = 'checkout'
      AND state IN ('created', 'open') AND session_id IS NULL`);
  const pages = await db.query(sql<{ sessionId: string }>`
    SELECT session_id AS "sessionId" FROM top_up JOIN workspace USING (workspace_id)
    WHERE organization_id = ${organizationId} AND state = 'open' AND session_id IS NOT NULL`);
  for (const { sessionId } of pages)
    await stripe.checkout.sessions.expire(sessionId).catch((error: unknown) => {
      // The page was paid or has ended.
      if (!isOver(error)) throwPaymentsAway(error);
    });
}

/** The processor refuses to end a page that is not open by a 400. */
const isOver = (error: unknown): boolean =>
  typeof error === 'object' && error !== null && 'statusCode' in error && error.statusCode === 400;
